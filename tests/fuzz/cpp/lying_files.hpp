// Device files that answer as an input says: a kernel, or a driver in it, that isn't the one that
// we know.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "input_bytes.hpp"
#include "window/backends/device_files.hpp"

namespace isthmus::fuzz {

/// What a call of a device file writes to: its argument, and what that points to.
using Answer = std::vector<std::span<std::byte>>;

/// Passes every call on to `files`, and changes some of what comes back. Opening, mapping, control
/// and reading fail as well.
class LyingFiles final : public window::DeviceFiles {
public:
  using AnswerOf = Answer (*)(unsigned long request, void* argument);

  LyingFiles(std::shared_ptr<const window::DeviceFiles> files, AnswerOf answer_of, InputBytes& lies)
      : files_(std::move(files)), answer_of_(answer_of), lies_(lies) {}

  int open(const char* path) const override {
    if (const int error = lie(); error != 0) return error;
    return files_->open(path);
  }

  int control(int descriptor, unsigned long request, void* argument) const override {
    // Found before the call: what it writes may hold addresses of another kind.
    const Answer answer = answer_of_(request, argument);
    const int result = files_->control(descriptor, request, argument);
    const std::uint8_t how = lies_.byte();
    if (how >= 0xf0) return -1 - how % 16;
    for (int left = how % 4; left > 0; --left) change(answer);
    return how % 16 == 15 ? 0 : result;
  }

  int map(void* where, std::size_t size_bytes, int descriptor, off_t offset,
          void** mapped) const override {
    if (const int error = lie(); error != 0) return error;
    return files_->map(where, size_bytes, descriptor, offset, mapped);
  }

  void unmap(void* mapped, std::size_t size_bytes) const noexcept override {
    files_->unmap(mapped, size_bytes);
  }
  void close(int descriptor) const noexcept override { files_->close(descriptor); }
  ssize_t read_memory(std::uintptr_t address, void* target, std::size_t size_bytes) const override {
    if (const int error = lie(); error != 0) return error;
    const ssize_t count = files_->read_memory(address, target, size_bytes);
    for (int left = lies_.byte() % 4; left > 0; --left)
      change({{static_cast<std::byte*>(target), size_bytes}});
    return lies_.byte() == 0xff ? lies_.byte() : count;
  }
  std::uint64_t nanoseconds() const noexcept override { return files_->nanoseconds(); }

private:
  int lie() const {
    const std::uint8_t how = lies_.byte();
    return how >= 0xf0 ? -1 - how % 16 : 0;
  }

  void change(const Answer& answer) const {
    if (answer.empty()) return;
    const std::span<std::byte> part = answer[lies_.below(answer.size())];
    if (part.empty()) return;
    const std::size_t at = lies_.below(part.size());
    const auto value = lies_.take<std::uint32_t>();
    const std::size_t num_bytes = std::min(sizeof value, part.size() - at);
    std::memcpy(part.data() + at, &value, num_bytes);
  }

  std::shared_ptr<const window::DeviceFiles> files_;
  AnswerOf answer_of_;
  InputBytes& lies_;
};

inline std::span<std::byte> memory(void* begin, std::size_t size_bytes) {
  return {static_cast<std::byte*>(begin), size_bytes};
}

}  // namespace isthmus::fuzz

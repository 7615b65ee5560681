// Device memory for tests of the C libraries, from the project's own driver layer: the libraries
// only get its address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/buffers.hpp"
#include "device/test_driver.hpp"

namespace isthmus::test {

/// Poisoned device memory, aligned to 64 KiB.
class DeviceMemory {
public:
  static constexpr std::size_t kAlignmentBytes = 65536;

  explicit DeviceMemory(std::size_t size_bytes)
      : context_(context()),
        buffer_(context_, size_bytes + kAlignmentBytes - 1),
        size_(size_bytes) {
    write(0, std::vector<std::uint8_t>(size_bytes, 0xA5));
  }

  std::uint64_t pointer() const {
    return (buffer_.pointer() + kAlignmentBytes - 1) & ~(kAlignmentBytes - 1);
  }

  void write(std::size_t offset, const std::vector<std::uint8_t>& bytes) const {
    const CurrentContext current(context_);
    driver().call(symbol::memcpy_htod)(CUdeviceptr{pointer() + offset}, bytes.data(), bytes.size());
    driver().call(symbol::ctx_synchronize)();
  }
  std::vector<std::uint8_t> read(std::size_t offset, std::size_t size_bytes) const {
    std::vector<std::uint8_t> bytes(size_bytes);
    const CurrentContext current(context_);
    driver().call(symbol::memcpy_dtoh)(bytes.data(), CUdeviceptr{pointer() + offset}, bytes.size());
    return bytes;
  }
  std::vector<std::uint8_t> all() const { return read(0, size_); }

private:
  Context context_;
  DeviceBuffer buffer_;
  std::size_t size_;
};

/// Bytes that differ from their neighbours and from poison.
inline std::vector<std::uint8_t> pattern(std::size_t size_bytes) {
  std::vector<std::uint8_t> bytes(size_bytes);
  for (std::size_t at = 0; at < size_bytes; ++at)
    bytes[at] = static_cast<std::uint8_t>((at * 7 + at / 251 + 1) % 251 % 0xA5);
  return bytes;
}

}  // namespace isthmus::test

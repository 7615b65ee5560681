#include "transfer/saving/file_target.hpp"

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace isthmus::transfer {
namespace {

bool is_aligned(std::size_t number) noexcept { return number % FileTarget::kBlockBytes == 0; }

[[noreturn]] void throw_failed(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::string range_text(std::size_t offset_bytes, std::size_t size_bytes) {
  return std::to_string(size_bytes) + " bytes from byte " + std::to_string(offset_bytes) + " on";
}

/// Another descriptor of the same file that bypasses the page cache, or -1.
int reopen_directly(int descriptor) noexcept {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  return open(path.c_str(), O_WRONLY | O_CLOEXEC | O_DIRECT);
}

/// Writes as many bytes as the system takes. Returns their number, and 0 with `error` after a
/// failure.
std::size_t write_some(int descriptor, std::span<const std::byte> bytes, std::size_t offset_bytes,
                       int& error) noexcept {
  ssize_t count = -1;
  do {
    count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
  } while (count < 0 && errno == EINTR);
  // A system that takes nothing would be asked for ever.
  error = count < 0 ? errno : (count == 0 ? EIO : 0);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace

FileTarget::FileTarget(int descriptor, std::size_t size_bytes, Writing writing)
    : descriptor_(descriptor) {
  if (writing == Writing::through_cache || size_bytes < kBlockBytes) return;
  direct_descriptor_ = reopen_directly(descriptor);
  if (direct_descriptor_ < 0) return;
  if (fallocate(direct_descriptor_, 0, 0, static_cast<off_t>(size_bytes)) == 0) return;
  // Without a reservation the writes themselves find out whether there is room. A signal also ends
  // the call; whether the save goes on is decided elsewhere.
  const int error = errno;
  if (error == EOPNOTSUPP || error == ENOSYS || error == EINTR) return;
  close(direct_descriptor_);
  throw_failed(error, "reserving " + std::to_string(size_bytes) + " bytes");
}

FileTarget::~FileTarget() {
  if (direct_descriptor_ >= 0) close(direct_descriptor_);
}

bool FileTarget::takes(const std::byte* memory) const noexcept {
  return !writes_directly() || is_aligned(reinterpret_cast<std::uintptr_t>(memory));
}

/// How many of these bytes are written directly: whole blocks in aligned memory.
std::size_t FileTarget::direct_bytes(std::span<const std::byte> bytes) const noexcept {
  if (!writes_directly() || !takes(bytes.data())) return 0;
  return bytes.size() / kBlockBytes * kBlockBytes;
}

void FileTarget::write(std::span<const std::byte> bytes, std::size_t offset_bytes) const {
  int error = 0;
  const auto advance = [&](int descriptor, std::size_t size_bytes) {
    const std::size_t count = write_some(descriptor, bytes.first(size_bytes), offset_bytes, error);
    bytes = bytes.subspan(count);
    offset_bytes += count;
  };
  while (error == 0 && direct_bytes(bytes) > 0) advance(direct_descriptor_, direct_bytes(bytes));
  // The end of a file isn't a whole block, and a file system may refuse, or stop within a block:
  // the rest goes through the cache.
  if (error == EINVAL) error = 0;
  while (error == 0 && !bytes.empty()) advance(descriptor_, bytes.size());
  if (error != 0) throw_failed(error, "writing " + range_text(offset_bytes, bytes.size()));
}

}  // namespace isthmus::transfer

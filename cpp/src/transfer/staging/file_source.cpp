#include "transfer/staging/file_source.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/memory/pages.hpp"

namespace isthmus::transfer {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::uint64_t block_before(std::uint64_t offset_bytes) {
  return offset_bytes / host::kSmallPageBytes * host::kSmallPageBytes;
}

/// Another descriptor of the same file, even if another file has taken its name meanwhile.
int reopen(int descriptor, int flags) noexcept {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
}

void require_range(int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes) {
  struct stat file{};
  if (fstat(descriptor, &file) != 0) throw UsageError("can't look at the file: " + reason(errno));
  if (!S_ISREG(file.st_mode)) throw UsageError("only regular files can be copied from");
  const auto file_bytes = static_cast<std::uint64_t>(file.st_size);
  if (offset_bytes > file_bytes || size_bytes > file_bytes - offset_bytes)
    throw UsageError("the file has " + std::to_string(file_bytes) + " bytes; the copy needs " +
                     std::to_string(size_bytes) + " at " + std::to_string(offset_bytes));
}

enum class Reading { any_bytes, whole_blocks };

/// Reads until `size_bytes` are there or the file ends. Returns the number of bytes, or -1 (errno).
ssize_t read_at(int descriptor, std::byte* target, std::size_t size_bytes,
                std::uint64_t offset_bytes, Reading reading) noexcept {
  std::size_t num_read = 0;
  while (num_read < size_bytes) {
    const ssize_t count = pread(descriptor, target + num_read, size_bytes - num_read,
                                static_cast<off_t>(offset_bytes + num_read));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    num_read += static_cast<std::size_t>(count);
    // A file returns part of a block only at its end; reading on from there isn't possible.
    const bool ended = reading == Reading::whole_blocks && num_read % host::kSmallPageBytes != 0;
    if (count == 0 || ended) break;
  }
  return static_cast<ssize_t>(num_read);
}

[[noreturn]] void throw_shorter(std::uint64_t end_bytes, std::uint64_t offset_bytes) {
  throw UsageError("the file has become shorter: it ends at byte " + std::to_string(end_bytes) +
                   ", where the bytes from " + std::to_string(offset_bytes) + " on were read");
}

}  // namespace

FileSource::FileSource(int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes)
    : offset_bytes_(offset_bytes) {
  require_range(descriptor, offset_bytes, size_bytes);
  descriptor_ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0)
    throw Unavailable("a file descriptor", reason(errno), "a higher limit of open files");
  direct_descriptor_ = reopen(descriptor_, O_DIRECT);
  probe_offset_bytes_ = block_before(offset_bytes);
  probe_size_bytes_ = static_cast<std::size_t>(offset_bytes - probe_offset_bytes_) + size_bytes;
  if (direct_descriptor_ < 0 || size_bytes == 0) return;
  void* const mapped = mmap(nullptr, probe_size_bytes_, PROT_READ, MAP_SHARED, descriptor_,
                            static_cast<off_t>(probe_offset_bytes_));
  if (mapped != MAP_FAILED) probe_ = mapped;
}

FileSource::~FileSource() {
  if (probe_ != nullptr) munmap(probe_, probe_size_bytes_);
  if (direct_descriptor_ >= 0) close(direct_descriptor_);
  close(descriptor_);
}

std::size_t FileSource::fill(std::byte* slot, std::size_t offset_bytes,
                             std::size_t size_bytes) const {
  const std::uint64_t first = offset_bytes_ + offset_bytes;
  if (reads_directly() && !in_page_cache(first, size_bytes) &&
      fill_directly(slot, first, size_bytes))
    return static_cast<std::size_t>(first - block_before(first));
  fill_through_cache(slot, first, size_bytes);
  return 0;
}

/// Checks the first page, the last, and one between: a program that reads a file usually reads more
/// than one page. A wrong answer only costs time.
bool FileSource::in_page_cache(std::uint64_t offset_bytes, std::size_t size_bytes) const noexcept {
  if (probe_ == nullptr) return true;
  const std::uint64_t last = offset_bytes + size_bytes - 1;
  for (const std::uint64_t sample : {offset_bytes, offset_bytes + size_bytes / 2, last}) {
    unsigned char resident = 0;
    std::byte* const page =
        static_cast<std::byte*>(probe_) + (block_before(sample) - probe_offset_bytes_);
    if (mincore(page, 1, &resident) != 0) return true;
    if ((resident & 1U) == 0) return false;
  }
  return true;
}

/// Returns     false if the file system refuses after all.
bool FileSource::fill_directly(std::byte* slot, std::uint64_t offset_bytes,
                               std::size_t size_bytes) const {
  const std::uint64_t first = block_before(offset_bytes);
  const std::size_t lead_bytes = static_cast<std::size_t>(offset_bytes - first);
  const std::size_t needed_bytes = lead_bytes + size_bytes;
  const std::size_t whole_bytes = host::round_up(needed_bytes, host::kSmallPageBytes);
  const ssize_t count =
      read_at(direct_descriptor_, slot, whole_bytes, first, Reading::whole_blocks);
  if (count < 0) return false;
  if (static_cast<std::size_t>(count) < needed_bytes)
    throw_shorter(first + static_cast<std::uint64_t>(count), offset_bytes);
  return true;
}

void FileSource::fill_through_cache(std::byte* slot, std::uint64_t offset_bytes,
                                    std::size_t size_bytes) const {
  const ssize_t count = read_at(descriptor_, slot, size_bytes, offset_bytes, Reading::any_bytes);
  if (count < 0) throw UsageError("reading the file failed: " + reason(errno));
  if (static_cast<std::size_t>(count) < size_bytes)
    throw_shorter(offset_bytes + static_cast<std::uint64_t>(count), offset_bytes);
}

}  // namespace isthmus::transfer

#include "paged/paged_file.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "host/memory/memory_map.hpp"
#include "host/memory/pages.hpp"
#include "paged/file_loading.hpp"

namespace isthmus {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::string range_text(std::uint64_t offset_bytes, std::size_t size_bytes) {
  return std::to_string(size_bytes) + " bytes from byte " + std::to_string(offset_bytes) + " on";
}

/// A pipe may have taken the name: opening it would wait.
int open_without_waiting(const std::string& path, int access) {
  return open(path.c_str(), O_CLOEXEC | O_NONBLOCK | O_NOCTTY | access);
}

/// The kernel's mapping of an address.
host::Mapping mapping_of(const void* address) {
  const auto found = host::mapping_at(reinterpret_cast<std::uintptr_t>(address));
  if (!found)
    throw Unavailable("the file of a memory-mapped array",
                      "/proc/self/maps can't be read or doesn't list the array's memory",
                      "a mounted /proc, and free file descriptors");
  return *found;
}

/// How the kernel's list names a file: stat() may name the same one differently (overlayfs, btrfs).
host::Mapping mapping_of_file(int descriptor) {
  const std::size_t page_bytes = host::page_bytes();
  void* const page = mmap(nullptr, page_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (page == MAP_FAILED && errno == ENOMEM) throw std::bad_alloc();
  if (page == MAP_FAILED) throw UsageError("this file can't be mapped: " + reason(errno));
  const auto unmap = [page_bytes](void* mapped) { munmap(mapped, page_bytes); };
  const std::unique_ptr<void, decltype(unmap)> mapped(page, unmap);
  return mapping_of(page);
}

bool are_of_one_file(const host::Mapping& one, const host::Mapping& other) noexcept {
  return one.has_file && other.has_file && one.file_system == other.file_system &&
         one.inode == other.inode;
}

std::uint64_t place_in_file(const host::Mapping& mapping, const void* address) noexcept {
  return mapping.offset_bytes + (reinterpret_cast<std::uintptr_t>(address) - mapping.begin);
}

}  // namespace

PagedFile::PagedFile(const std::string& path, const void* mapped, std::size_t size_bytes,
                     bool read_only)
    : path_(path), size_bytes_(size_bytes) {
  if (size_bytes == 0) throw UsageError("a paged array needs at least one item");
  open_by(path, read_only);
  try {
    find_part(mapped);
    require_whole();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

PagedFile::~PagedFile() { close(descriptor_); }

void PagedFile::open_by(const std::string& path, bool read_only) {
  descriptor_ = open_without_waiting(path, read_only ? O_RDONLY : O_RDWR);
  if (descriptor_ >= 0) return;
  if (errno == EMFILE || errno == ENFILE)
    throw Unavailable("a file descriptor", reason(errno), "a higher limit of open files");
  throw UsageError("can't open " + path + " once more: " + reason(errno) +
                   "; a paged array opens the file of a memory-mapped array by its name");
}

void PagedFile::find_part(const void* mapped) {
  struct stat file{};
  if (fstat(descriptor_, &file) != 0)
    throw UsageError("can't look at " + path_ + ": " + reason(errno));
  if (!S_ISREG(file.st_mode))
    throw UsageError(path_ + " is not a regular file: copy it into an array first");
  if (file.st_size == 0)
    throw UsageError(path_ + " has become empty: the array has " + std::to_string(size_bytes_) +
                     " bytes of it");
  const void* const last = static_cast<const std::byte*>(mapped) + size_bytes_ - 1;
  const host::Mapping first_pages = mapping_of(mapped), last_pages = mapping_of(last);
  if (!first_pages.shared || !last_pages.shared)
    throw UsageError(
        "this array is a private mapping, whose changes don't reach the file (mode 'c'): map it "
        "with 'r' or 'r+', or copy it into an array of isthmus.pinned.empty()");
  const host::Mapping whole = mapping_of_file(descriptor_);
  offset_bytes_ = place_in_file(first_pages, mapped);
  const bool is_its_file = are_of_one_file(whole, first_pages) &&
                           are_of_one_file(whole, last_pages) &&
                           place_in_file(last_pages, last) == offset_bytes_ + size_bytes_ - 1;
  if (!is_its_file)
    throw UsageError("the array's memory isn't of the file " + path_ +
                     ", which has this name by now: map that file anew");
}

std::uint64_t PagedFile::file_bytes() const {
  struct stat file{};
  if (fstat(descriptor_, &file) != 0)
    throw UsageError("can't look at " + path_ + ": " + reason(errno));
  return std::uint64_t(file.st_size);
}

void PagedFile::require_whole() const {
  const std::uint64_t end_bytes = offset_bytes_ + size_bytes_;
  if (const std::uint64_t now_bytes = file_bytes(); now_bytes < end_bytes)
    throw UsageError(path_ + " has become shorter: it has " + std::to_string(now_bytes) +
                     " bytes, and the array's end is at byte " + std::to_string(end_bytes) +
                     ". Make it as long as it was (truncate -s) and call again");
}

void PagedFile::load(std::byte* memory, const std::function<bool()>& interrupted) const {
  require_whole();
  const std::size_t behind_block = offset_bytes_ % kBlockBytes;
  if (reinterpret_cast<std::uintptr_t>(memory) % kBlockBytes != behind_block)
    throw UsageError("this memory doesn't begin where the file's blocks do: PagedFile::load()");
  // What comes before the first whole block, so that all else is read to where it belongs.
  const std::size_t head_bytes =
      std::min(size_bytes_, behind_block == 0 ? 0 : kBlockBytes - behind_block);
  read(memory, {0, head_bytes});
  const FilePart rest{descriptor_, offset_bytes_ + head_bytes, size_bytes_ - head_bytes};
  load_blocks(rest, memory + head_bytes, interrupted);
  num_read_bytes_ += rest.size_bytes;
}

void PagedFile::read(std::byte* memory, const PagedRange& range) const {
  for (std::uint64_t at = range.begin; at < range.end;) {
    const ssize_t count =
        pread(descriptor_, memory + at, range.end - at, off_t(offset_bytes_ + at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw UsageError("reading " + path_ + " failed: " + reason(errno));
    if (count == 0) {
      require_whole();
      throw UsageError("reading " + path_ + " failed: it ended for a moment");
    }
    at += std::uint64_t(count);
    num_read_bytes_ += std::uint64_t(count);
  }
}

void PagedFile::write(const std::byte* memory, const PagedRange& range) const {
  for (std::uint64_t at = range.begin; at < range.end;) {
    const ssize_t count =
        pwrite(descriptor_, memory + at, range.end - at, off_t(offset_bytes_ + at));
    if (count < 0 && errno == EINTR) continue;
    // A system that takes nothing would be asked for ever.
    if (count <= 0)
      throw std::system_error(count < 0 ? errno : EIO, std::generic_category(),
                              "writing " + range_text(offset_bytes_ + at, range.end - at));
    at += std::uint64_t(count);
    num_written_bytes_ += std::uint64_t(count);
  }
}

}  // namespace isthmus

#include "paged/paged_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "host/cpu/cgroup.hpp"
#include "host/cpu/signal_block.hpp"
#include "host/memory/memory_map.hpp"
#include "host/memory/pages.hpp"
#include "transfer/staging/file_source.hpp"

namespace isthmus {

namespace {

// As saving does: a disk serves several requests at a time. Source: benchmarks/frontdoor/save.py.
constexpr std::size_t kMaxThreads = 8;
constexpr std::size_t kPieceBytes = std::size_t{4} << 20U;

/// The pieces of one part, which threads take one after the other.
class Pieces {
public:
  Pieces(const transfer::FileSource& file, std::byte* memory, std::size_t size_bytes)
      : file_(file), memory_(memory), size_bytes_(size_bytes) {}

  std::size_t count() const noexcept { return (size_bytes_ + kPieceBytes - 1) / kPieceBytes; }

  /// Returns     false if none is left.
  bool read_next() noexcept {
    const std::size_t begin = next_.fetch_add(kPieceBytes);
    if (begin >= size_bytes_) return false;
    try {
      // A piece begins with a block, so that the bytes come to where they are asked for.
      file_.fill(memory_ + begin, begin, std::min(kPieceBytes, size_bytes_ - begin));
    } catch (...) {
      fail(std::current_exception());
    }
    return true;
  }
  /// Keeps the first failure; no further piece is taken.
  void fail(std::exception_ptr failure) noexcept {
    const std::scoped_lock lock(failing_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    next_ = size_bytes_;
  }
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

private:
  const transfer::FileSource& file_;
  std::byte* const memory_;
  const std::size_t size_bytes_;
  std::atomic<std::size_t> next_{0};
  std::mutex failing_;
  std::exception_ptr failure_;
};

std::size_t num_helpers(const Pieces& pieces) {
  const auto num_cores = std::max<std::size_t>(1, std::size_t(host::effective_cores()));
  return std::min({kMaxThreads, num_cores, pieces.count()}) - 1;
}

/// Threads that read until no piece is left. They end before their object does.
class Helpers {
public:
  Helpers(Pieces& pieces, std::size_t count) {
    const host::ScopedSignalBlock block;
    threads_.reserve(count);
    try {
      while (threads_.size() < count)
        threads_.emplace_back([&pieces] {
          while (pieces.read_next()) {
          }
        });
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): those that exist do all
    }
  }
  ~Helpers() {
    for (std::thread& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

private:
  std::vector<std::thread> threads_;
};

/// Reads a part of a file to where it belongs in memory, by several threads.
///
/// offset_bytes in the file, of a block of 4096 bytes
/// memory       4096-byte aligned; 4096 more bytes are writable
/// interrupted  asked by the calling thread before each piece of its own, at least once
/// Throws       UsageError if the file is too short or reading fails; Unavailable if no descriptors
///              are left; Interrupted. No thread reads any more.
void load_blocks(int descriptor, std::uint64_t offset_bytes, std::span<std::byte> memory,
                 const std::function<bool()>& interrupted) {
  if (memory.empty()) return;
  const transfer::FileSource file(descriptor, offset_bytes, memory.size());
  Pieces pieces(file, memory.data(), memory.size());
  {
    const Helpers helpers(pieces, num_helpers(pieces));
    do {
      if (interrupted())
        pieces.fail(std::make_exception_ptr(Interrupted("reading the file was interrupted")));
    } while (pieces.read_next());
  }
  pieces.rethrow();
}

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
  const std::span rest(memory + head_bytes, size_bytes_ - head_bytes);
  load_blocks(descriptor_, offset_bytes_ + head_bytes, rest, interrupted);
  num_read_bytes_ += rest.size();
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

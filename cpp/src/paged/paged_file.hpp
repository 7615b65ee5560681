// A part of a file whose bytes a paged array has in host memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace isthmus {

/// Bytes of an array, from its first item.
struct PagedRange {
  std::uint64_t begin = 0, end = 0;
};

/// The bytes of a file that a program has mapped, read and written by their own descriptor. The
/// mapping itself is never touched: a file that becomes shorter is an error, and not a SIGBUS.
///
/// Members may be called from any thread.
class PagedFile {
public:
  /// What memory for load() is aligned to, as the bytes in the file are. Source: open(2), O_DIRECT:
  /// the logical block size of the storage, which is at most a page.
  static constexpr std::size_t kBlockBytes = 4096;

  /// path        the file's; a relative one is looked for in the current folder
  /// mapped      [size_bytes], size_bytes > 0: a shared mapping of this file, in this process
  /// read_only   write() isn't called; the file is opened for reading alone
  /// Throws      UsageError if another file has this name by now, the mapping is private, the file
  ///             isn't a regular one, can't be opened, or has become shorter than the mapping;
  ///             Unavailable if no descriptors are left, or the kernel doesn't list mappings.
  PagedFile(const std::string& path, const void* mapped, std::size_t size_bytes, bool read_only);
  ~PagedFile();
  PagedFile(const PagedFile&) = delete;
  PagedFile& operator=(const PagedFile&) = delete;

  /// Where the part begins in the file.
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

  /// Reads all bytes, by several threads. What the page cache holds is copied from there; the rest
  /// comes directly from the disk, where the file system allows that.
  ///
  /// memory       [size_bytes]: at offset_bytes() modulo kBlockBytes. Up to kBlockBytes after its
  ///              end are writable, and become undefined.
  /// interrupted  asked now and then by the calling thread; true stops the work
  /// Throws       UsageError if the file has become shorter or reading fails; Interrupted;
  ///              Unavailable if no descriptors are left. Some bytes of the memory are then undefined.
  void load(std::byte* memory, const std::function<bool()>& interrupted) const;

  /// Throws      UsageError if the file has become shorter than the part's end.
  void require_whole() const;
  /// Reads a range into the same range of `memory`, [size_bytes], through the page cache.
  ///
  /// Throws      UsageError as load()
  void read(std::byte* memory, const PagedRange& range) const;
  /// Writes a range of `memory` to the file, through the page cache.
  ///
  /// Throws      std::system_error: the disk is full, or fails. A part may be written.
  void write(const std::byte* memory, const PagedRange& range) const;

  // So far:
  std::uint64_t num_read_bytes() const noexcept { return num_read_bytes_.load(); }
  std::uint64_t num_written_bytes() const noexcept { return num_written_bytes_.load(); }

private:
  void open_by(const std::string& path, bool read_only);
  void find_part(const void* mapped);
  std::uint64_t file_bytes() const;

  std::string path_;
  std::size_t size_bytes_;
  std::uint64_t offset_bytes_ = 0;
  int descriptor_ = -1;
  mutable std::atomic<std::uint64_t> num_read_bytes_{0}, num_written_bytes_{0};
};

}  // namespace isthmus

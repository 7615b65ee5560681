// A file that is being saved: written through the page cache, or directly to the disk.
#pragma once

#include <cstddef>
#include <span>

namespace isthmus::transfer {

/// How the bytes reach the disk.
enum class Writing {
  through_cache,  ///< a part may be on the disk only after fsync()
  /// Past the page cache (O_DIRECT), where the file system allows it: no CPU copies, and the cache
  /// keeps what it has.
  directly,
};

/// A new file of known size. write() may be called by several threads at once.
class FileTarget {
public:
  /// What the ends of direct writes in the file, and their memory, are aligned to. Source: open(2):
  /// the logical block size of the storage, which is at most a page.
  static constexpr std::size_t kBlockBytes = 4096;

  /// Reserves the room on the disk if the bytes are written directly: a full disk is noticed here.
  ///
  /// descriptor  of an empty regular file, open for writing; outlives this
  /// Throws      std::system_error.
  FileTarget(int descriptor, std::size_t size_bytes, Writing writing);
  ~FileTarget();
  FileTarget(const FileTarget&) = delete;
  FileTarget& operator=(const FileTarget&) = delete;

  bool writes_directly() const noexcept { return direct_descriptor_ >= 0; }
  /// True if write() takes memory as it is; other memory is best copied to aligned memory first.
  bool takes(const std::byte* memory) const noexcept;

  /// Writes to the file's bytes from `offset_bytes` on, which is a multiple of kBlockBytes.
  ///
  /// Throws      std::system_error; EFAULT if the bytes can't be read.
  void write(std::span<const std::byte> bytes, std::size_t offset_bytes) const;

private:
  std::size_t direct_bytes(std::span<const std::byte> bytes) const noexcept;

  int descriptor_;
  int direct_descriptor_ = -1;  // -1: through the cache
};

}  // namespace isthmus::transfer

// A file's bytes on their way into a staging ring: from the page cache, or directly from the disk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transfer/staging/slot_filler.hpp"

namespace isthmus::transfer {

/// A range of an open file. Read with pread and never through a mapping, so a file that gets
/// shorter is an error and not a SIGBUS. What the page cache holds is copied from there; the rest
/// comes directly from the disk into the slot (O_DIRECT), if the file system allows it: the cache
/// isn't filled, and no CPU copies.
class FileSource final : public SlotFiller {
public:
  /// descriptor  of a file that is open for reading; may be closed once this returns
  /// Throws      UsageError if it isn't a regular file, can't be read, or ends before offset_bytes
  ///             + size_bytes; Unavailable if no descriptors are left.
  FileSource(int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes);
  ~FileSource() override;

  /// Throws      UsageError if the file ends before these bytes, or reading fails.
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override;

  /// True if what isn't in the page cache is read with O_DIRECT.
  bool reads_directly() const noexcept { return direct_descriptor_ >= 0; }

private:
  bool in_page_cache(std::uint64_t offset_bytes, std::size_t size_bytes) const noexcept;
  bool fill_directly(std::byte* slot, std::uint64_t offset_bytes, std::size_t size_bytes) const;
  void fill_through_cache(std::byte* slot, std::uint64_t offset_bytes,
                          std::size_t size_bytes) const;

  std::uint64_t offset_bytes_;
  int descriptor_ = -1;
  int direct_descriptor_ = -1;  // -1: the file system has no O_DIRECT
  // Mapped only to ask which pages are in the cache; its bytes are never touched. Null: unknown.
  void* probe_ = nullptr;
  std::uint64_t probe_offset_bytes_ = 0;
  std::size_t probe_size_bytes_ = 0;
};

}  // namespace isthmus::transfer

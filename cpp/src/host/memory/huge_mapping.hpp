// Ordinary host memory, like malloc's for large sizes, but owned and page-aligned.
// A separate mapping of host memory, laid out for huge pages.
#pragma once

#include <cstddef>

namespace isthmus::host {

/// An anonymous mapping without advice about huge pages. Movable. Pages are placed at first touch.
class PageableBuffer {
public:
  /// Throws   UsageError if `size_bytes` is 0; std::system_error if the system refuses the mapping.
  explicit PageableBuffer(std::size_t size_bytes);
  PageableBuffer(PageableBuffer&& other) noexcept;
  PageableBuffer& operator=(PageableBuffer&& other) noexcept;
  ~PageableBuffer();

  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

enum class InChildren {
  shared,   ///< a forked child has it too, copy-on-write
  missing,  ///< a forked child doesn't have it, so its pages are never copied (MADV_DONTFORK)
};

/// An anonymous mapping that begins at a multiple of 2 MiB, in huge pages if the kernel gives them.
/// Movable. Pages don't exist before they are touched.
class HugeMapping {
public:
  /// size_bytes  > 0; rounded up to whole pages
  /// numa_node   the preferred node; other nodes if it is full or the kernel refuses. -1: any
  /// Throws      UsageError if `size_bytes` is 0; std::system_error if it can't be mapped.
  explicit HugeMapping(std::size_t size_bytes, int numa_node = -1,
                       InChildren in_children = InChildren::shared);
  HugeMapping(HugeMapping&& other) noexcept;
  HugeMapping& operator=(HugeMapping&& other) noexcept;
  ~HugeMapping();

  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// Frees all pages with several threads: the contents are lost, the addresses stay mapped. Faster
  /// than the destructor's one thread.
  void drop_pages(int num_threads) noexcept;
  /// Gives up the memory without unmapping it.
  void release() noexcept { data_ = nullptr; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace isthmus::host

// Ordinary host memory, like malloc's for large sizes, but owned and page-aligned.
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

}  // namespace isthmus::host

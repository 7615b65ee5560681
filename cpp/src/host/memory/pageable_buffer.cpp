#include "host/memory/pageable_buffer.hpp"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <sys/mman.h>

#include <isthmus/errors.hpp>

namespace isthmus::host {

PageableBuffer::PageableBuffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) throw UsageError("pageable buffer of 0 bytes: give at least 1");
  void* mapping =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "mmap of " + std::to_string(size_bytes) + " bytes of host memory");
  }
  data_ = static_cast<std::byte*>(mapping);
}

PageableBuffer::PageableBuffer(PageableBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

PageableBuffer& PageableBuffer::operator=(PageableBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

PageableBuffer::~PageableBuffer() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
}

}  // namespace isthmus::host

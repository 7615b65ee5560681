// CUDA arrays: device memory with a shape and without an address.
#pragma once

#include "api/context.hpp"
#include "memory/memory_object.hpp"

namespace isthmus::emulator {

/// An array. It lives until it is destroyed or its context is released. Its rows are contiguous.
struct Array {
  Context* context = nullptr;
  MemoryObjectPtr object;
  std::size_t element_bytes = 1;
  std::size_t row_bytes = 0;
  std::size_t num_rows = 1;  ///< in one slice
  std::size_t num_slices = 1;

  std::size_t size_bytes() const { return row_bytes * num_rows * num_slices; }
};

/// Bytes of all live arrays.
std::size_t array_bytes(Lock& lock);

}  // namespace isthmus::emulator

// CUDA arrays: device memory that has a shape, and no address.
#pragma once

#include "context.hpp"
#include "memory_object.hpp"

namespace isthmus::emulator {

/// An array, alive until it is destroyed or its context goes. Its elements lie row after row.
struct Array {
  Context* context = nullptr;
  MemoryObjectPtr object;
  std::size_t element_bytes = 1;
  std::size_t row_bytes = 0;
  std::size_t num_rows = 1;  ///< of one slice
  std::size_t num_slices = 1;

  std::size_t size_bytes() const { return row_bytes * num_rows * num_slices; }
};

/// Bytes of all arrays that are alive.
std::size_t array_bytes(Lock& lock);

}  // namespace isthmus::emulator

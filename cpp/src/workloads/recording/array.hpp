// A workload's memory, as its kernels see it. Includes nothing: kernels compile for GPUs.
#pragma once

namespace isthmus::workloads {

/// Elements on the program's heap: their values here, and the address that a GPU would access.
template <class T>
struct Array {
  T* values = nullptr;
  unsigned long long address = 0;  ///< a multiple of 256
  unsigned long long num_elements = 0;
};

}  // namespace isthmus::workloads

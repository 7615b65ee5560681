// A launch of a workload as a GPU is given it: a kernel's name, and its arguments as bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace isthmus::workloads {

/// Values that the kernel reads through a pointer in its arguments: the GPU needs a copy of them,
/// and the pointer to it.
struct KernelConstant {
  std::size_t argument_offset = 0;  ///< of the pointer, in the arguments' bytes
  const void* values = nullptr;
  std::size_t size_bytes = 0;
};

/// The kernel is a function template over a CTA and its arguments, a struct; kernels/workload.cuh
/// finds the arrays in it by their addresses.
struct KernelCall {
  std::string_view kernel;  ///< "bfs_level"; empty: the workload has no kernels for GPUs
  std::vector<std::byte> arguments;
  std::vector<KernelConstant> constants;
};

template <class Arguments>
KernelCall kernel_call(std::string_view kernel, const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  KernelCall call{kernel, std::vector<std::byte>(sizeof arguments), {}};
  std::memcpy(call.arguments.data(), &arguments, sizeof arguments);
  return call;
}

/// Adds the values of a pointer.
///
/// pointer       a member of `arguments`
/// num_values    behind it
template <class Arguments, class T>
void add_constant(KernelCall& call, const Arguments& arguments, const T* const& pointer,
                  std::size_t num_values) {
  const auto offset =
      reinterpret_cast<const std::byte*>(&pointer) - reinterpret_cast<const std::byte*>(&arguments);
  call.constants.push_back({static_cast<std::size_t>(offset), pointer, num_values * sizeof(T)});
}

}  // namespace isthmus::workloads

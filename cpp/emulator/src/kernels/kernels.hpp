// The kernels of kernels/, compiled for the CPU, by name.
#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace isthmus::emulator {

struct HostKernel {
  std::string_view stem;  ///< its file, kernels/<stem>.cu
  std::string_view name;
  /// Reads the launch's parameters now; the returned function runs the kernel later.
  std::function<void()> (*bind)(void** parameters);
  std::size_t num_parameters;
};

/// Sorted by file name.
std::span<const HostKernel> host_kernels();

}  // namespace isthmus::emulator

// The text of kernels/, compiled into the library so that no file has to be found at run time.
#pragma once

#include <span>
#include <string_view>

namespace isthmus {

struct KernelSource {
  const char* file_name;  ///< "pattern.cu"
  const char* text;
};

/// The files that hold kernels: *.cu
std::span<const KernelSource> kernel_sources();
/// The files they include: *.cuh
std::span<const KernelSource> kernel_headers();
/// The kernel file with this stem ("pattern"). Throws UsageError if there is none.
const KernelSource& kernel_source(std::string_view stem);

}  // namespace isthmus

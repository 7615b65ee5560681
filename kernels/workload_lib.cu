// The kernels of the workload lib: Monte Carlo of interest rates.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/lib_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(lib_paths, LibArguments, 0, __launch_bounds__(256, 3),
                         __launch_bounds__(256, 3))

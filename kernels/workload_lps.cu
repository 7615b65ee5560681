// The kernels of the workload lps: a step of Laplace's equation.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/lps_kernel.hpp"

constexpr unsigned kIsthmusSharedOfLps = 3 * (isthmus::workloads::kLpsPlane + 3) * sizeof(float);

ISTHMUS_WORKLOAD_KERNELS(lps_step, LpsArguments, kIsthmusSharedOfLps, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 3))

// The kernels of the workload wp: the water of a weather model.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/wp_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(wp_step, WpArguments, 0, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 4))

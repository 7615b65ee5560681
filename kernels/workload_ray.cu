// The kernels of the workload ray: a ray-traced picture.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/ray_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(ray_pixels, RayArguments, 0, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 3))

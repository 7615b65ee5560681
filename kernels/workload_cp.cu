// The kernels of the workload cp: a Coulomb potential.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/cp_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(cp_plane, CpArguments, 0, __launch_bounds__(256, 6),
                         __launch_bounds__(256, 3))

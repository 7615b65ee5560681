// The kernels of the workload sto: hashes of a sliding window.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/sto_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(sto_windows, StoArguments, 0, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 3))

// The kernels of the workload mum: reads of DNA in a suffix tree.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/mum_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(mum_reads, MumArguments, 0, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 3))

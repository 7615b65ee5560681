// The kernels of the workload bfs: breadth-first search.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/bfs_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(bfs_level, BfsArguments, 0, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 3))

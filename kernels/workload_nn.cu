// The kernels of the workload nn: a convolutional network.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/nn_kernel.hpp"

ISTHMUS_WORKLOAD_KERNELS(nn_convolution, NnLayer, 0, __launch_bounds__(256, 4), )

ISTHMUS_WORKLOAD_KERNELS(nn_connected, NnLayer, 0, __launch_bounds__(256, 4), )

// The kernels of the workload aes: AES-128.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/aes_kernel.hpp"

constexpr unsigned kIsthmusSharedOfAes = 2 * isthmus::workloads::kAesThreads * sizeof(unsigned);

ISTHMUS_WORKLOAD_KERNELS(aes_blocks, AesArguments, kIsthmusSharedOfAes, __launch_bounds__(256, 4),
                         __launch_bounds__(256, 3))

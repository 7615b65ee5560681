// The kernels of the workload aes: AES-128.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/aes_kernel.hpp"

constexpr unsigned kIsthmusSharedOfAes = 2 * isthmus::workloads::kAesThreads * sizeof(unsigned);

extern "C" __global__ void isthmus_workload_aes_blocks_plain(isthmus::workloads::AesArguments in,
                                                             uint8_t* heap, uint64_t first_address,
                                                             uint32_t num_ctas,
                                                             uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfAes>(IsthmusPlainHeap(heap, first_address), num_ctas,
                                        num_threads, [&](auto& cta) { aes_blocks(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 4)
    isthmus_workload_aes_blocks_paged(isthmus::workloads::AesArguments in,
                                      const isthmus::unit_map* heap, uint64_t first_address,
                                      uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfAes>(IsthmusPagedHeap<isthmus::unit_map>(heap, first_address),
                                        num_ctas, num_threads,
                                        [&](auto& cta) { aes_blocks(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_aes_blocks_extended(isthmus::workloads::AesArguments in,
                                         const isthmus::paged_map* heap, uint64_t first_address,
                                         uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfAes>(IsthmusPagedHeap<isthmus::paged_map>(heap, first_address),
                                        num_ctas, num_threads,
                                        [&](auto& cta) { aes_blocks(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_aes_blocks_budgeted(isthmus::workloads::AesArguments in,
                                         const isthmus::budgeted_map* heap, uint64_t first_address,
                                         uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfAes>(
      IsthmusPagedHeap<isthmus::budgeted_map>(heap, first_address), num_ctas, num_threads,
      [&](auto& cta) { aes_blocks(cta, in); });
}

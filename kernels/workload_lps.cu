// The kernels of the workload lps: a step of Laplace's equation.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/lps_kernel.hpp"

constexpr unsigned kIsthmusSharedOfLps = 3 * (isthmus::workloads::kLpsPlane + 3) * sizeof(float);

extern "C" __global__ void isthmus_workload_lps_step_plain(isthmus::workloads::LpsArguments in,
                                                           uint8_t* heap, uint64_t first_address,
                                                           uint32_t num_ctas,
                                                           uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfLps>(IsthmusPlainHeap(heap, first_address), num_ctas,
                                        num_threads, [&](auto& cta) { lps_step(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 4)
    isthmus_workload_lps_step_paged(isthmus::workloads::LpsArguments in,
                                    const isthmus::unit_map* heap, uint64_t first_address,
                                    uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfLps>(IsthmusPagedHeap<isthmus::unit_map>(heap, first_address),
                                        num_ctas, num_threads,
                                        [&](auto& cta) { lps_step(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_lps_step_extended(isthmus::workloads::LpsArguments in,
                                       const isthmus::paged_map* heap, uint64_t first_address,
                                       uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfLps>(IsthmusPagedHeap<isthmus::paged_map>(heap, first_address),
                                        num_ctas, num_threads,
                                        [&](auto& cta) { lps_step(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_lps_step_budgeted(isthmus::workloads::LpsArguments in,
                                       const isthmus::budgeted_map* heap, uint64_t first_address,
                                       uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<kIsthmusSharedOfLps>(
      IsthmusPagedHeap<isthmus::budgeted_map>(heap, first_address), num_ctas, num_threads,
      [&](auto& cta) { lps_step(cta, in); });
}

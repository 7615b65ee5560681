// The kernels of the workload mum: reads of DNA in a suffix tree.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/mum_kernel.hpp"

extern "C" __global__ void isthmus_workload_mum_reads_plain(isthmus::workloads::MumArguments in,
                                                            uint8_t* heap, uint64_t first_address,
                                                            uint32_t num_ctas,
                                                            uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPlainHeap(heap, first_address), num_ctas, num_threads,
                      [&](auto& cta) { mum_reads(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 4)
    isthmus_workload_mum_reads_paged(isthmus::workloads::MumArguments in,
                                     const isthmus::unit_map* heap, uint64_t first_address,
                                     uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::unit_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { mum_reads(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_mum_reads_extended(isthmus::workloads::MumArguments in,
                                        const isthmus::paged_map* heap, uint64_t first_address,
                                        uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::paged_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { mum_reads(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_mum_reads_budgeted(isthmus::workloads::MumArguments in,
                                        const isthmus::budgeted_map* heap, uint64_t first_address,
                                        uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::budgeted_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { mum_reads(cta, in); });
}

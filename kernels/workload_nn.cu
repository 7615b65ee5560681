// The kernels of the workload nn: a convolutional network.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/nn_kernel.hpp"

extern "C" __global__ void isthmus_workload_nn_convolution_plain(isthmus::workloads::NnLayer in,
                                                                 uint8_t* heap,
                                                                 uint64_t first_address,
                                                                 uint32_t num_ctas,
                                                                 uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPlainHeap(heap, first_address), num_ctas, num_threads,
                      [&](auto& cta) { nn_convolution(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 4)
    isthmus_workload_nn_convolution_paged(isthmus::workloads::NnLayer in,
                                          const isthmus::unit_map* heap, uint64_t first_address,
                                          uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::unit_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { nn_convolution(cta, in); });
}

extern "C" __global__ void isthmus_workload_nn_convolution_extended(isthmus::workloads::NnLayer in,
                                                                    const isthmus::paged_map* heap,
                                                                    uint64_t first_address,
                                                                    uint32_t num_ctas,
                                                                    uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::paged_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { nn_convolution(cta, in); });
}

extern "C" __global__ void isthmus_workload_nn_convolution_budgeted(
    isthmus::workloads::NnLayer in, const isthmus::budgeted_map* heap, uint64_t first_address,
    uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::budgeted_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { nn_convolution(cta, in); });
}

extern "C" __global__ void isthmus_workload_nn_connected_plain(isthmus::workloads::NnLayer in,
                                                               uint8_t* heap,
                                                               uint64_t first_address,
                                                               uint32_t num_ctas,
                                                               uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPlainHeap(heap, first_address), num_ctas, num_threads,
                      [&](auto& cta) { nn_connected(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 4)
    isthmus_workload_nn_connected_paged(isthmus::workloads::NnLayer in,
                                        const isthmus::unit_map* heap, uint64_t first_address,
                                        uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::unit_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { nn_connected(cta, in); });
}

extern "C" __global__ void isthmus_workload_nn_connected_extended(isthmus::workloads::NnLayer in,
                                                                  const isthmus::paged_map* heap,
                                                                  uint64_t first_address,
                                                                  uint32_t num_ctas,
                                                                  uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::paged_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { nn_connected(cta, in); });
}

extern "C" __global__ void isthmus_workload_nn_connected_budgeted(isthmus::workloads::NnLayer in,
                                                                  const isthmus::budgeted_map* heap,
                                                                  uint64_t first_address,
                                                                  uint32_t num_ctas,
                                                                  uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::budgeted_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { nn_connected(cta, in); });
}

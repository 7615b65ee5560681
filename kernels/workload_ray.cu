// The kernels of the workload ray: a ray-traced picture.
//
// Launch: a block for each CTA, as the workload says. workload.cuh has what they run on.
#include "workload.cuh"

#include "workloads/evaluation/ray_kernel.hpp"

extern "C" __global__ void isthmus_workload_ray_pixels_plain(isthmus::workloads::RayArguments in,
                                                             uint8_t* heap, uint64_t first_address,
                                                             uint32_t num_ctas,
                                                             uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPlainHeap(heap, first_address), num_ctas, num_threads,
                      [&](auto& cta) { ray_pixels(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 4)
    isthmus_workload_ray_pixels_paged(isthmus::workloads::RayArguments in,
                                      const isthmus::unit_map* heap, uint64_t first_address,
                                      uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::unit_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { ray_pixels(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_ray_pixels_extended(isthmus::workloads::RayArguments in,
                                         const isthmus::paged_map* heap, uint64_t first_address,
                                         uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::paged_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { ray_pixels(cta, in); });
}

extern "C" __global__ void __launch_bounds__(256, 3)
    isthmus_workload_ray_pixels_budgeted(isthmus::workloads::RayArguments in,
                                         const isthmus::budgeted_map* heap, uint64_t first_address,
                                         uint32_t num_ctas, uint32_t num_threads) {
  isthmus_run_ctas<0>(IsthmusPagedHeap<isthmus::budgeted_map>(heap, first_address), num_ctas,
                      num_threads, [&](auto& cta) { ray_pixels(cta, in); });
}

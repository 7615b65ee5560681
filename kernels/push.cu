// Copies device memory into pinned host memory from inside a kernel, and signals its arrival: a
// download without a copy engine and without CPU loads.
//
// Launch: any grid whose blocks are all resident at once. Each lane moves 8 bytes an iteration.
// isthmus_push_asked ends after `num_rounds` answers, when stopped, or after `timeout_ns` without a
// question.
#include "questions.cuh"

__device__ inline void isthmus_push_bytes(const uint8_t* source, uint8_t* target,
                                          uint64_t size_bytes) {
  isthmus_note_write(target, size_bytes);
  const uint64_t num_words = size_bytes / 8;
  // Volatile: a running kernel must not read bytes that an earlier round left in its cache.
  const volatile uint64_t* words = reinterpret_cast<const volatile uint64_t*>(source);
  const volatile uint8_t* bytes = source;
  uint64_t* out = reinterpret_cast<uint64_t*>(target);
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) out[i] = words[i];
  if (isthmus_lane() != 0) return;
  for (uint64_t i = num_words * 8; i < size_bytes; ++i) target[i] = bytes[i];
}

/// The last block to finish answers for all: each lane's stores are fenced before its block is
/// counted.
__device__ inline void isthmus_push_finish(uint32_t* num_blocks_done, uint32_t* answer,
                                           uint32_t round) {
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (atomicAdd(num_blocks_done, 1u) + 1 == gridDim.x * round) isthmus_publish(answer, round);
}

/// source           device, [size_bytes], 8-byte aligned
/// target           pinned host memory mapped on the device, [size_bytes], 8-byte aligned
/// num_blocks_done  device, [1]; gridDim.x * (round - 1) before
/// answer           pinned host memory mapped on the device, [1]; set to `round` after all bytes
extern "C" __global__ void isthmus_push(const uint8_t* source, uint8_t* target, uint64_t size_bytes,
                                        uint32_t* num_blocks_done, uint32_t* answer,
                                        uint32_t round) {
  isthmus_push_bytes(source, target, size_bytes);
  isthmus_push_finish(num_blocks_done, answer, round);
}

/// Like isthmus_push, once for each question: it waits for 1, 2, ... num_rounds in turn.
///
/// question         device, [1]; or kNoMoreQuestions
/// num_blocks_done  device, [1]; 0 before
extern "C" __global__ void isthmus_push_asked(const uint32_t* question, const uint8_t* source,
                                              uint8_t* target, uint64_t size_bytes,
                                              uint32_t* num_blocks_done, uint32_t* answer,
                                              uint32_t num_rounds, uint64_t timeout_ns) {
  __shared__ bool asked;
  for (uint32_t round = 1; round <= num_rounds; ++round) {
    if (threadIdx.x == 0) asked = isthmus_await(question, round, timeout_ns);
    __syncthreads();
    if (!asked) return;
    isthmus_push_bytes(source, target, size_bytes);
    isthmus_push_finish(num_blocks_done, answer, round);
    __syncthreads();  // else lane 0 could await the next question while others read `asked`
  }
}

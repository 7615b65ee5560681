// Answers each flag of the CPU with a flag, and data with data: how long does a round trip take
// with flags and data in either memory?
//
// Launch: one block of any width. Ends after `num_rounds` answers, when stopped, or after
// `timeout_ns` without a question. Each lane moves 4 bytes an iteration.
#include "questions.cuh"

/// question     device or pinned host memory, [1]; set to 1, 2, ... num_rounds, each after the
///              input of its round; or kNoMoreQuestions
/// answer       device or pinned host memory, [1]; set to each value after the output of its round
/// input        device or pinned host memory, [num_words]; ignored if num_words is 0
/// output       device or pinned host memory, [num_words]; set to input[i] ^ round
/// Completion   `answer` is num_rounds on success; smaller if the deadline passed
extern "C" __global__ void isthmus_ping_pong(const uint32_t* question, uint32_t* answer,
                                             const uint32_t* input, uint32_t* output,
                                             uint64_t num_words, uint32_t num_rounds,
                                             uint64_t timeout_ns) {
  __shared__ bool asked;
  // Volatile: words that an earlier round left in the L1 cache are stale.
  const volatile uint32_t* words = input;
  for (uint32_t round = 1; round <= num_rounds; ++round) {
    if (threadIdx.x == 0) asked = isthmus_await(question, round, timeout_ns);
    __syncthreads();
    if (!asked) return;
    if (num_words != 0) {
      isthmus_note_read(input, num_words * sizeof *input);
      isthmus_note_write(output, num_words * sizeof *output);
      __threadfence_system();
      for (uint64_t i = threadIdx.x; i < num_words; i += blockDim.x) output[i] = words[i] ^ round;
      __threadfence_system();
      __syncthreads();
    }
    if (threadIdx.x == 0) isthmus_publish(answer, round);
    __syncthreads();  // else lane 0 could await the next question while others read `asked`
  }
}

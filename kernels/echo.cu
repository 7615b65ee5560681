// Answers a flag in device memory with a flag in host memory: when does the GPU see what the CPU
// sent?
//
// Launch: <<<1, 1>>>. isthmus_echo ends after `num_rounds` answers, when stopped, or after
// `timeout_ns` without a question.
#include "questions.cuh"

/// question     device, [1]; the kernel waits for 1, 2, ... num_rounds in turn, or kNoMoreQuestions
/// answer       pinned host memory mapped on the device, [1]; set to each value as it is seen
/// Completion   `answer` is num_rounds on success; smaller if the deadline passed
extern "C" __global__ void isthmus_echo(const uint32_t* question, uint32_t* answer,
                                        uint32_t num_rounds, uint64_t timeout_ns) {
  for (uint32_t round = 1; round <= num_rounds; ++round) {
    const uint64_t start_ns = isthmus_now_ns();
    for (uint32_t seen = isthmus_load(question); seen != round; seen = isthmus_load(question)) {
      if (seen == kNoMoreQuestions || isthmus_now_ns() - start_ns > timeout_ns) return;
      isthmus_pause();
    }
    isthmus_publish(answer, round);
  }
}

// Flags that the CPU sets for a running kernel: 1, 2, 3, ... and finally kNoMoreQuestions.
#pragma once

#include "portable.cuh"

/// The flag's value when there are no more questions.
constexpr uint32_t kNoMoreQuestions = 0xffffffffu;

/// Polls between two reads of the clock, each of which costs more than a poll of device memory.
constexpr uint32_t kPollsPerLook = 16;

/// Waits until `question` is `round`, in one lane.
///
/// Returns     false if kNoMoreQuestions or the deadline came first: then the kernel must end
__device__ inline bool isthmus_await(const uint32_t* question, uint32_t round,
                                     uint64_t timeout_ns) {
  const uint64_t start_ns = isthmus_now_ns();
  uint32_t seen = isthmus_load(question);
  for (uint32_t polls = 1; seen != round; ++polls, seen = isthmus_load(question)) {
    if (seen == kNoMoreQuestions) return false;
    if (polls % kPollsPerLook != 0) continue;
    if (isthmus_now_ns() - start_ns > timeout_ns) return false;
    isthmus_pause();
  }
  return true;
}

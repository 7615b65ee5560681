// Flags in host memory that a device sets, and functions that wait for them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

inline constexpr std::size_t kFlagBytes = sizeof(std::uint32_t);
inline constexpr std::uint32_t kNoMoreQuestions = 0xffffffffU;  // as in kernels/questions.cuh

inline constexpr unsigned kPollsPerLook = 64;         // reading the clock costs about 25 ns
inline constexpr double kPoliteAfterSeconds = 30e-6;  // on an H100 the answer takes 2 to 8 us

using Flag = std::atomic_ref<std::uint32_t>;

inline Flag flag_at(std::byte* address) { return Flag(*reinterpret_cast<std::uint32_t*>(address)); }

/// Polls until `load()` returns `value`. After longer than any link needs, it yields the core
/// between polls: an emulated GPU may need this core to answer.
///
/// who      what is awaited, for the message: "a kernel's answer"
/// Throws   TimedOut if the value doesn't come in time.
template <typename Load>
void await(Load load, std::uint32_t value, std::chrono::duration<double> timeout, const char* who) {
  const auto start = Clock::now();
  for (unsigned polls = 1; load() != value; ++polls) {
    if (polls % kPollsPerLook != 0) continue;
    const double seconds = seconds_since(start);
    if (seconds > kPoliteAfterSeconds) std::this_thread::yield();
    if (seconds > timeout.count()) {
      throw TimedOut(std::string(who) + " was not seen within " + std::to_string(timeout.count()) +
                     " s");
    }
  }
}

/// The same for a flag in host memory; bytes written before the flag are visible too.
inline void await(const Flag& flag, std::uint32_t value, std::chrono::duration<double> timeout,
                  const char* who) {
  await([&] { return flag.load(std::memory_order_acquire); }, value, timeout, who);
}

}  // namespace isthmus::measure

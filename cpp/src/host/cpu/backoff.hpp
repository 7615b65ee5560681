// Waiting for something that usually happens soon.
#pragma once

#include <chrono>
#include <thread>

namespace isthmus::host {

/// One pause of a spinning thread.
inline void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

/// How long a wait occupies its core.
struct SpinLimits {
  int num_pauses = 256;  ///< before the thread yields
  /// After the pauses, the thread yields for this long before it sleeps. If the link limits a copy,
  /// a thread may wait until all slots have crossed: 4 x 16 MiB take 1.2 ms at 55 GB/s, and twice
  /// that while another ring uses the link.
  std::chrono::steady_clock::duration yield_time = std::chrono::milliseconds{5};
  /// At a time. The default is twice the time of a whole slot on an H100's link: at most 5 % of the
  /// waiting time too late. A sleep takes some 55 us more than this, by the kernel's timers.
  std::chrono::microseconds sleep_time{100};
};

/// The pauses of one wait. They are short at first. Then the thread yields its core. Finally it
/// sleeps: a caller's stream may delay a copy for seconds, and threads that spin for that long
/// would take the cores from the program.
class Backoff {
public:
  explicit Backoff(const SpinLimits& limits = {}) noexcept : limits_(limits) {}

  void pause() noexcept {
    if (++num_pauses_ < limits_.num_pauses) return pause_briefly();
    const auto now = std::chrono::steady_clock::now();
    if (num_pauses_ == limits_.num_pauses) yields_until_ = now + limits_.yield_time;
    if (now < yields_until_) return std::this_thread::yield();
    std::this_thread::sleep_for(limits_.sleep_time);
  }

private:
  SpinLimits limits_;
  int num_pauses_ = 0;
  std::chrono::steady_clock::time_point yields_until_;
};

/// Waits until `holds()`. The short pauses are counted in a register, because most answers from
/// other threads arrive within the first few: Backoff would make a hand-off of 100 ns 30 ns
/// longer.
template <typename Condition>
void wait_until(Condition holds, const SpinLimits& limits = {}) noexcept {
  for (int num_pauses = 0; num_pauses < limits.num_pauses; ++num_pauses) {
    if (holds()) return;
    pause_briefly();
  }
  for (Backoff backoff({.num_pauses = 1, .yield_time = limits.yield_time}); !holds();)
    backoff.pause();
}

}  // namespace isthmus::host

// Time in ns, from the CPU's counter where it is invariant: the kernel's clock takes 60 ns on some virtual machines, and each
// watched call asks twice.
#include <cpuid.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "preload/counting.hpp"

namespace isthmus::preload {
namespace {

constexpr u64 kCalibrationNs = 20'000'000;  // the rate is then right to some millionths
constexpr unsigned kFraction = 32;
__extension__ using Wide = unsigned __int128;

struct Counter {
  u64 ticks;
  u64 ns;
  u64 ns_per_tick;  ///< in units of 2^-32; 0: not calibrated yet
};
Counter counter;

bool is_invariant() {
  constexpr unsigned power_leaf = 0x80000007;
  constexpr unsigned invariant = 1U << 8U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(power_leaf, &a, &b, &c, &d) != 0 && (d & invariant) != 0;
}

/// Some virtual machines hide that it is invariant; the kernel has tested it if it goes by it.
bool is_the_kernels() {
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                        O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[4] = {};
  const ssize_t length = read(file, name, sizeof name);
  close(file);
  return length == 4 && memcmp(name, "tsc\n", sizeof name) == 0;
}

/// Both clocks at one moment. False: this thread was interrupted between them, and they differ.
bool read_both(u64& ticks, u64& ns) {
  constexpr u64 most_ticks = 20000;  // the slowest clocks of a kernel take less
  const u64 before = __rdtsc();
  ns = clock_ns(CLOCK_MONOTONIC);
  ticks = __rdtsc();
  return ticks - before < most_ticks;
}

/// Calibrates without a wait: with the first call that comes late enough.
[[gnu::noinline]] u64 uncalibrated_ns() {
  u64 ticks = 0;
  u64 now = 0;
  const bool is_exact = read_both(ticks, now);
  if (is_exact && counter.ns != 0 && now - counter.ns >= kCalibrationNs && ticks > counter.ticks) {
    const Wide rate = (Wide{now - counter.ns} << kFraction) / (ticks - counter.ticks);
    __atomic_store_n(&counter.ns_per_tick, static_cast<u64>(rate), __ATOMIC_RELEASE);
  }
  return now;
}

}  // namespace

u64 clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<u64>(time.tv_sec) * 1'000'000'000 + static_cast<u64>(time.tv_nsec);
}

void begin_clock() {
  if (!is_invariant() && !is_the_kernels()) return;
  Counter begin{};
  for (int tries = 0; counter.ns == 0 && tries < 8; ++tries)
    if (read_both(begin.ticks, begin.ns)) counter = begin;
}

u64 now_ns() {
  const u64 rate = __atomic_load_n(&counter.ns_per_tick, __ATOMIC_ACQUIRE);
  if (rate == 0) [[unlikely]]
    return uncalibrated_ns();
  const Wide passed = Wide{__rdtsc() - counter.ticks} * rate;
  return counter.ns + static_cast<u64>(passed >> kFraction);
}

}  // namespace isthmus::preload

#include "machine/clock.hpp"

#include <thread>

namespace isthmus::emulator {

void spin_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  // With one core, the awaited thread needs it. With more, yielding a core can cost a whole time
  // slice (4 ms) on a busy machine, far longer than any spin here.
  static const bool single_core = std::thread::hardware_concurrency() <= 1;
  if (single_core) std::this_thread::yield();
}

void wait_until(Time deadline) {
  if (deadline - Clock::now() > kSpin) std::this_thread::sleep_until(deadline - kSpin);
  while (Clock::now() < deadline) spin_once();
}

}  // namespace isthmus::emulator

#include "memory/memory_costs.hpp"

#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

constexpr double kPageBytes = 4096;

}  // namespace

void MemoryCall::take(const MemoryCost& cost, std::size_t size_bytes, Duration more) const {
  const std::chrono::duration<double, std::nano> pages(
      cost.page_ns * static_cast<double>(whole_pages(size_bytes)) / kPageBytes);
  const Duration modelled = cost.call + std::chrono::duration_cast<Duration>(pages) + more;
  count_modelled(modelled);
  wait_until(begin_ + modelled);
}

}  // namespace isthmus::emulator

#include "machine/shared_link.hpp"

#include <algorithm>

#include "machine/paces.hpp"

namespace isthmus::emulator {
namespace {

constexpr std::size_t kPassingBytes = 4096;

}  // namespace

Time SharedLink::cross(std::size_t size_bytes, Time start) {
  const Duration duration = pinned_pace().time_for(size_bytes);
  Time free_at = free_at_.load(std::memory_order_relaxed);
  Time end;
  do {
    end = std::max(free_at, start) + duration;
  } while (!free_at_.compare_exchange_weak(free_at, end, std::memory_order_relaxed));
  return size_bytes <= kPassingBytes ? start + duration : end;
}

}  // namespace isthmus::emulator

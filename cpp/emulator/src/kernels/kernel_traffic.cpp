#include "kernels/kernel_traffic.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

/// Where memory is, as seen from the kernel's device.
enum class Where { here, host, peer };

struct Place {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;  ///< 0: an unused entry
  Where where = Where::here;

  bool holds(std::uintptr_t address) const { return address - begin < size_bytes; }
};

/// A kernel polls its flags millions of times, so the places that it touched last are kept.
struct RunningKernel {
  int ordinal = 0;
  Time end{};
  const SharedLink* crossing = nullptr;  ///< by the bytes noted last; null if they are awaited
  std::array<Place, 4> places{};
  std::size_t oldest = 0;
};
thread_local RunningKernel running;

Where where_is(const Range& range, int ordinal) {
  if (range.on_host()) return Where::host;
  if (range.kind == RangeKind::managed)
    return range.prefetched_to == ordinal ? Where::here : Where::host;
  return range.device == ordinal ? Where::here : Where::peer;
}

/// Memory that the driver doesn't know counts as the device's own, byte by byte.
Place look_up(std::uintptr_t address) {
  const Lock lock = lock_machine();
  const Range* range = machine().addresses.covering(address, 1);
  if (range == nullptr) return {address, 1, Where::here};
  return {range->base, range->size_bytes, where_is(*range, running.ordinal)};
}

Where where_is(const void* memory) {
  const std::uintptr_t address = address_of(memory);
  for (const Place& place : running.places)
    if (place.holds(address)) return place.where;
  Place& replaced = running.places[running.oldest++ % running.places.size()];
  replaced = look_up(address);
  return replaced.where;
}

/// Peers are reached at the pace of a copy engine, the host at that of the profile.
Pace pace_to(Where where, Duration latency) {
  Pace pace = pinned_pace();
  pace.latency = latency;
  if (where == Where::host) pace.bytes_per_s = machine().profile().direct.kernel_bytes_per_s;
  return pace;
}

/// Accesses in one direction overlap until they are awaited: the first one's latency is that of all.
void add_traffic(SharedLink& link, std::size_t size_bytes, const Pace& pace) {
  const bool overlaps = std::exchange(running.crossing, &link) == &link;
  const Duration latency = overlaps ? Duration{} : pace.latency;
  count_modelled(latency + pace.time_for(size_bytes));
  const Time begin = std::max(running.end, Clock::now()) + latency;
  running.end = std::max(begin + pace.time_for(size_bytes), link.cross(size_bytes, begin));
}

}  // namespace

void begin_kernel(int ordinal) { running = {.ordinal = ordinal}; }

Time traffic_end() { return running.end; }

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

void isthmus_note_read(const void* source, std::uint64_t size_bytes) {
  const Where where = where_is(source);
  if (where == Where::here || size_bytes == 0) return;
  add_traffic(machine().devices[static_cast<std::size_t>(running.ordinal)].upward, size_bytes,
              pace_to(where, machine().profile().direct.kernel_read));
}

void isthmus_note_write(const void* target, std::uint64_t size_bytes) {
  const Where where = where_is(target);
  if (where == Where::here || size_bytes == 0) return;
  add_traffic(machine().devices[static_cast<std::size_t>(running.ordinal)].downward, size_bytes,
              pace_to(where, machine().profile().direct.kernel_write));
}

void isthmus_await_traffic() {
  if (std::exchange(running.crossing, nullptr) != nullptr) wait_until(running.end);
}

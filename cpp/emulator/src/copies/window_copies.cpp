// isthmus_emulator_window_copies: the CPU's copies through mappings of device memory, in the time
// of the modelled link.
#pragma GCC visibility push(default)
#include "emulator.h"
#pragma GCC visibility pop

#include <algorithm>
#include <array>
#include <atomic>

#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

/// What crosses before the thread waits, so that the bytes of a long copy arrive spread over its
/// time.
constexpr std::size_t kPieceBytes = std::size_t{256} * 1024;

using PlainCopy = void (*)(void* target, const void* source, std::size_t size_bytes);

/// The instructions that copy, by device: set before the first copy.
struct PlainCopies {
  std::atomic<PlainCopy> write{nullptr};
  std::atomic<PlainCopy> read{nullptr};
};
std::array<PlainCopies, kMaxDevices> plain_copies;

/// The pace of one thread's loads: it waits a round trip for each kBytesInFlight.
Pace read_pace() {
  const Duration round_trip = machine().profile().direct.window_read;
  const std::chrono::duration<double> seconds(round_trip);
  return {round_trip, static_cast<double>(kBytesInFlight) / seconds.count()};
}

void write_through(std::size_t ordinal, void* target, const void* source, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  const PlainCopy copy = plain_copies[ordinal].write.load(std::memory_order_relaxed);
  const DirectAccess& direct = machine().profile().direct;
  const Pace pace{direct.window_write, direct.window_write_bytes_per_s};
  Time at = Clock::now() + pace.latency;
  count_modelled(pace.latency + pace.time_for(size_bytes));
  for (std::size_t done = 0; done < size_bytes;) {
    const std::size_t piece_bytes = std::min(kPieceBytes, size_bytes - done);
    copy(static_cast<std::byte*>(target) + done, static_cast<const std::byte*>(source) + done,
         piece_bytes);
    done += piece_bytes;
    const Time arrived = machine().devices[ordinal].upward.cross(piece_bytes, at);
    at = std::max(at + pace.time_for(piece_bytes), arrived);
    wait_until(at);
  }
}

/// The loads happen in the middle of the first round trip.
void read_through(std::size_t ordinal, void* target, const void* source, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  const PlainCopy copy = plain_copies[ordinal].read.load(std::memory_order_relaxed);
  const Pace pace = read_pace();
  Time at = Clock::now();
  wait_until(at + pace.latency / 2);
  count_modelled(std::max(pace.latency, pace.time_for(size_bytes)));
  for (std::size_t done = 0; done < size_bytes;) {
    const std::size_t piece_bytes = std::min(kPieceBytes, size_bytes - done);
    copy(static_cast<std::byte*>(target) + done, static_cast<const std::byte*>(source) + done,
         piece_bytes);
    done += piece_bytes;
    const Time arrived = machine().devices[ordinal].downward.cross(piece_bytes, at);
    at = std::max(at + std::max(pace.latency, pace.time_for(piece_bytes)), arrived);
    wait_until(at);
  }
}

/// A copying function has no other argument that could name its device.
template <std::size_t Ordinal>
void write_to(void* target, const void* source, std::size_t size_bytes) {
  write_through(Ordinal, target, source, size_bytes);
}
template <std::size_t Ordinal>
void read_from(void* target, const void* source, std::size_t size_bytes) {
  read_through(Ordinal, target, source, size_bytes);
}

constexpr std::array<IsthmusEmulatorCopies, kMaxDevices> kModelledCopies{
    {{write_to<0>, read_from<0>}, {write_to<1>, read_from<1>}}};

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" IsthmusEmulatorCopies isthmus_emulator_window_copies(int device,
                                                                IsthmusEmulatorCopies plain) {
  const auto ordinal = static_cast<std::size_t>(device);
  if (ordinal >= kModelledCopies.size()) return plain;
  plain_copies[ordinal].write = plain.write;
  plain_copies[ordinal].read = plain.read;
  return kModelledCopies[ordinal];
}

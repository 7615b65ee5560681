// A round trip: the CPU asks a running kernel and waits for its answer, through either memory.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include <isthmus/window.hpp>

#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

/// The location of a flag or data. The CPU accesses the device's memory through a window.
enum class Residence { device, pinned };
constexpr auto words_of(Residence) { return std::array{"device", "pinned"}; }

struct PingPongOptions {
  Residence question = Residence::device;  ///< the flag that the CPU sets
  Residence answer = Residence::pinned;    ///< the flag that the kernel sets
  /// The location of data that accompany both flags; empty: no data.
  std::optional<Residence> data;
  std::size_t data_bytes = 0;  ///< a multiple of 4; only with data
  Stopping stopping;
  std::chrono::duration<double> answer_timeout{5.0};
};

/// Measures the time of a round trip, from the CPU's first store to its last load. Yields one
/// metric, "round_trip", in seconds by the CPU's clock.
///
/// With data, in each round the CPU writes them, then its flag; the kernel reads both, writes
/// different data of the same length, then its flag; the CPU reads both. Every answer is verified.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size), Unavailable (no window, no kernels), CorruptTransfer, TimedOut (the
///           kernel never answered), DriverError.
Measurement measure_window_ping_pong(const Context& context, Windows& windows,
                                     const Kernels* kernels, const PingPongOptions& options);

}  // namespace isthmus::measure

// There and back: the CPU asks a running kernel and waits for its answer, through either memory.
#pragma once

#include <chrono>
#include <optional>

#include <isthmus/window.hpp>

#include "device/kernels.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

/// Where a flag or data lie. The CPU reaches the device's memory through a window.
enum class Residence { device, pinned };

struct PingPongOptions {
  Residence question = Residence::device;  ///< the flag that the CPU sets
  Residence answer = Residence::pinned;    ///< the flag that the kernel sets
  /// Where data lie that go with both flags; empty: none do.
  std::optional<Residence> data;
  std::size_t data_bytes = 0;  ///< a multiple of 4; only with data
  Stopping stopping;
  std::chrono::duration<double> answer_timeout{5.0};
};

/// Measures the time from the CPU's first store to its last load of a round trip. Yields one
/// metric, "round_trip", in seconds by the CPU clock.
///
/// With data a round is: the CPU writes them, then its flag; the kernel reads both, writes other
/// data of the same length, then its flag; the CPU reads both. Every answer is verified.
///
/// kernels   null: Unavailable
/// Throws    UsageError (size), Unavailable (no window, no kernels), CorruptTransfer, TimedOut (the
///           kernel never answered), DriverError.
Measurement measure_window_ping_pong(const Context& context, Windows& windows,
                                     const Kernels* kernels, const PingPongOptions& options);

}  // namespace isthmus::measure

// Flows, repeated copies from one memory to another, of one or several devices: each alone, each
// while all others run, and all together.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "device/context.hpp"
#include "device/kernels.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Copies of one size in one direction, each from the same source to the same target.
///
/// No copy synchronises inside, since copies wait behind gates. Each member function makes its
/// context current by itself, except enqueue().
class Flow {
public:
  Flow() = default;
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// The context of the streams in which copies are enqueued.
  virtual const Context& context() const = 0;
  virtual std::size_t size_bytes() const = 0;

  /// Writes the bytes to compare into the source. Waits until it is complete.
  virtual void prepare() = 0;
  /// Overwrites the target. Waits for it.
  virtual void poison() = 0;
  /// Enqueues one copy. The caller holds a CurrentContext of context().
  virtual void enqueue(CUstream stream) const = 0;
  /// Compares the target with the source. All copies must be complete.
  ///
  /// Throws   CorruptTransfer if any byte differs.
  virtual VerifiedOn verify() = 0;
};

/// A flow, and the kernels for its device's gate.
struct FlowUnderTest {
  Flow* flow = nullptr;
  const Kernels* kernels = nullptr;  ///< null: only cuStreamWaitValue32
};

struct FlowOptions {
  Stopping stopping;  ///< for each metric separately
  std::chrono::duration<double> gate_timeout{15.0};
};

/// Measures a flow by itself. Yields "copy_time": seconds for one copy, by the device's clock,
/// copies back to back behind a gate; verified.
///
/// Throws    CorruptTransfer, TimedOut, Unavailable (no gate), DriverError.
Measurement measure_flow(const FlowUnderTest& flow, const FlowOptions& options);

/// Measures one of several flows. Yields two metrics, each in seconds for one copy by its device's
/// clock:
///
///   alone        while no other flow runs
///   copy_time    while all others run: they begin with it and have at least twice as many copies;
///                a sample counts only if each of them took longer
///
/// All targets are verified.
///
/// flows     at least two, whatever their devices
/// index     of the one that is measured
/// Throws    UsageError (no such flow, or no other), what measure_flow throws; also Unavailable if
///           the others always end first.
Measurement measure_under_load(const std::vector<FlowUnderTest>& flows, std::size_t index,
                               const FlowOptions& options);

/// Measures all flows as one. Yields "aggregate": the time from the release of all until the last
/// copy of the last flow is complete, by the CPU's clock, divided by the total number of copies.
/// Bytes of one copy divided by it are the combined bandwidth, which can't be computed from
/// separate measurements.
///
/// Each flow has the same number of copies, of the same size. All targets are verified.
///
/// metric    the metric's name instead of "aggregate"
/// Throws    UsageError (no flow, sizes that differ), and what measure_flow throws.
Measurement measure_aggregate(const std::vector<FlowUnderTest>& flows, const FlowOptions& options,
                              const char* metric = "aggregate");

}  // namespace isthmus::measure

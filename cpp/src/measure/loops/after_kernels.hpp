// A context in which kernels have run, as programs have it.
#pragma once

#include "device/buffers.hpp"
#include "device/stream.hpp"

namespace isthmus::measure {

/// Runs the kernel by which the driver sets memory. Before a context's first kernel, the driver
/// answers sooner whether a stream has work: on an H200 (driver 580) cuStreamQuery takes 0.16 us
/// before it and 1.3 us from then on, until the program pins or allocates memory. The driver's
/// copies ask it, and so do copies through windows that are ordered behind a stream's work.
/// Programs run kernels, so copies are measured after one.
class AfterKernels {
public:
  explicit AfterKernels(const Context& context);

  /// Returns when the kernel has ended. Throws DriverError.
  void run() const;

private:
  DeviceBuffer memory_;
  Stream stream_;
};

}  // namespace isthmus::measure

// Repeated copies from one memory to another, timed alone and together with others.
#pragma once

#include <cstddef>

#include "device/context.hpp"
#include "measure/loops/samples.hpp"

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

}  // namespace isthmus::measure

// Bytes that go one way between two memories, again and again: timed alone and together with others.
#pragma once

#include <cstddef>

#include "device/context.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

/// Copies of one size in one direction, each from the same source to the same target.
///
/// Nothing that synchronises inside: copies wait behind gates. The caller of a member function
/// holds no context in particular; each makes its own current.
class Flow {
public:
  Flow() = default;
  virtual ~Flow() = default;
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Whose streams the copies are asked for in.
  virtual const Context& context() const = 0;
  virtual std::size_t size_bytes() const = 0;

  /// Makes the source hold what will be compared. Waits for it.
  virtual void prepare() = 0;
  /// Overwrites the target. Waits for it.
  virtual void poison() = 0;
  /// Enqueues one copy. context() is current.
  virtual void enqueue(CUstream stream) const = 0;
  /// Compares the target with the source. All copies must be complete.
  ///
  /// Throws   CorruptTransfer if any byte differs.
  virtual VerifiedOn verify() = 0;
};

}  // namespace isthmus::measure

// The end of work in a stream, for whoever has to know that it has been reached.
#pragma once

#include "device/stream.hpp"

namespace isthmus {

/// A place in a stream's order. May be asked from any thread, whatever context is current there,
/// and while streams are captured: no capture is spoilt by the question.
class Completion {
public:
  enum class State {
    under_way,
    reached,
    unknown,  ///< the driver has failed: what comes before the place may still be under way
  };

  /// Throws      DriverError, OutOfDeviceMemory: nothing has been marked.
  explicit Completion(const Context& context) : event_(context, Event::Timing::disabled) {}

  /// Marks the end of all work that is now in `stream`, once. The stream is the context's and isn't
  /// captured.
  ///
  /// Throws      DriverError.
  void mark(CUstream stream) const;
  State state() const noexcept;
  /// Waits until the place is reached.
  ///
  /// Throws      DriverError where state() is unknown.
  void wait() const;

private:
  Event event_;
};

}  // namespace isthmus

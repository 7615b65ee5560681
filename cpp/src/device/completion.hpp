// The end of work in a stream, for those who must know that it has been reached.
#pragma once

#include "device/stream.hpp"

namespace isthmus {

/// A place in a stream's order. May be queried from any thread, with any current context, and while
/// streams are captured: the query doesn't invalidate a capture.
class Completion {
public:
  enum class State {
    under_way,
    reached,
    unknown,  ///< the driver has failed: work before the place may still be running
  };

  /// Throws      DriverError, OutOfDeviceMemory: nothing has been marked.
  explicit Completion(const Context& context) : event_(context, Event::Timing::disabled) {}

  /// Marks the end of all work that is now in `stream`. Call it once. The stream belongs to the
  /// context and isn't captured.
  ///
  /// Throws      DriverError.
  void mark(CUstream stream) const;
  /// Throws      DriverError if state() is unknown.
  bool reached() const;
  State state() const noexcept;
  /// Waits until the place is reached.
  ///
  /// Throws      DriverError if state() is unknown.
  void wait() const;

  /// Makes later work in `stream` wait until the place is reached.
  ///
  /// stream      of any context
  /// Throws      DriverError.
  void delay(CUstream stream) const;
  CUevent handle() const noexcept { return event_.handle(); }

private:
  Event event_;
};

}  // namespace isthmus

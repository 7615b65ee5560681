// Streams and events: the order of work on a device, and points in it.
// The end of work in a stream, for those who must know that it has been reached.
#pragma once

#include "device/owned.hpp"

namespace isthmus {

class Event;

/// A stream. Movable. The destructor does not wait for its work. The caller of a member function
/// holds a CurrentContext.
class Stream {
public:
  /// blocking       ordered with the legacy default stream, as of cudaStreamCreate
  /// non_blocking   not ordered with it
  enum class Kind { blocking, non_blocking };
  explicit Stream(const Context& context, Kind kind = Kind::non_blocking);

  CUstream handle() const noexcept { return owned_.handle(); }
  const Context& context() const noexcept { return owned_.context(); }

  /// Waits until all work enqueued so far is complete. Throws DriverError if any of it failed.
  void synchronize() const;
  /// True when all work enqueued so far is complete. Throws DriverError if any of it failed.
  bool idle() const;
  /// Work enqueued from now on starts after `event` is complete.
  void wait(const Event& event) const;

private:
  Owned<CUstream> owned_;
};

/// A point in a stream. Movable. The caller of a member function holds a CurrentContext.
class Event {
public:
  enum class Timing { enabled, disabled };
  explicit Event(const Context& context, Timing timing = Timing::enabled);

  CUevent handle() const noexcept { return owned_.handle(); }
  const Context& context() const noexcept { return owned_.context(); }

  /// Marks the point after all work now in `stream`; a later record moves it.
  void record(CUstream stream) const;
  void synchronize() const;
  bool complete() const;

private:
  Owned<CUevent> owned_;
};

/// Seconds of the device's clock between two recorded, complete events; the resolution is about 0.5
/// us.
///
/// Throws   Unavailable if the time is negative or NaN, as happens in confidential computing.
/// Source   CUDA Driver API 13.0, cuEventElapsedTime.
double elapsed_seconds(const Context& context, const Event& first, const Event& last);

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

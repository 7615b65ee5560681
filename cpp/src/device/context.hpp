// A device's primary context, shared with everything else in the process that uses the device.
#pragma once

#include <memory>
#include <optional>

#include "device/device_facts.hpp"
#include "driver/driver.hpp"

namespace isthmus {

/// Holds the primary context of one device, and knows nothing else about the device: reading the
/// facts takes longer than a small copy.
class PrimaryContext {
public:
  /// Retains the context; creates it if it doesn't exist.
  ///
  /// ordinal  of a device that exists
  /// Throws   OutOfDeviceMemory or DriverError if it can't be created.
  PrimaryContext(const Driver& driver, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  const Driver& driver() const noexcept { return driver_; }
  CUcontext handle() const noexcept { return handle_; }
  /// False in a forked child.
  bool in_own_process() const noexcept;

private:
  Driver driver_;
  CUdevice device_ = 0;
  CUcontext handle_ = nullptr;
};

/// Holds the primary context of one device. It has value semantics: copies share one retain; the
/// last releases it.
///
/// It doesn't make the context current: code that needs that makes a CurrentContext while it runs.
/// May be used from any thread.
class Context {
public:
  /// Retains the primary context of device `ordinal`; creates it if it doesn't exist.
  ///
  /// Throws   UsageError if there is no such device; OutOfDeviceMemory or DriverError if it can't
  ///          be created.
  static Context retain(const Driver& driver, int ordinal);

  const Driver& driver() const noexcept { return state_->primary.driver(); }
  const DeviceFacts& device() const noexcept { return state_->facts; }
  CUcontext handle() const noexcept { return state_->primary.handle(); }

  /// False in a forked child: everything in the context stayed with the parent, and nothing may be
  /// freed here.
  bool in_own_process() const noexcept { return state_->primary.in_own_process(); }

  /// True if the current context is another one, which the program made itself. An event of this
  /// one can't mark a place in that one's streams.
  bool is_foreign_current() const;

  /// Bytes of device memory that are free now, on the whole device.
  std::size_t free_memory_bytes() const;

private:
  struct State {
    State(const Driver& driver, int ordinal);

    DeviceFacts facts;  // read first: refuses an ordinal that no device has
    PrimaryContext primary;
  };
  explicit Context(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

/// Makes a context current on this thread for its own lifetime, then restores what was current
/// before.
class [[nodiscard]] CurrentContext {
public:
  explicit CurrentContext(const Context& context);
  explicit CurrentContext(const PrimaryContext& context);
  /// A context that somebody else created and keeps alive.
  CurrentContext(const Driver& driver, CUcontext context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

private:
  Driver driver_;
};

/// Makes a context of one device current during its life. If the current context belongs to that
/// device it stays current, because the caller's streams belong to it; else the primary context is
/// used.
class [[nodiscard]] ContextOfDevice {
public:
  explicit ContextOfDevice(const Context& context);
  /// Retains the primary context if needed, which is slower.
  ContextOfDevice(const Driver& driver, int ordinal);

private:
  std::optional<PrimaryContext> retained_;
  std::optional<CurrentContext> pushed_;
};

}  // namespace isthmus

// What makes a copy in the way that was chosen: one Carrier for each.
#pragma once

#include <memory>

#include "driver/driver.hpp"
#include "transfer/copy/pending_copy.hpp"
#include "transfer/copy/plan.hpp"

namespace isthmus::transfer {

/// Carries plans of one way. Has no state of its own: may be used from any thread. A context of the
/// plan's device is current.
class Carrier {
public:
  explicit Carrier(const Driver& driver) : driver_(driver) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// Copies after the stream's work, if the request is `ordered`; complete on return.
  ///
  /// Throws      UsageError if a mapped file has become shorter; OutOfDeviceMemory, DriverError:
  ///             nothing of the copy is under way then, or DriverError::memory_in_use() says that
  ///             it may be.
  virtual void carry(const Plan& plan, const Request& request) const = 0;

  /// Begins the copy in stream order, and returns as the request wants.
  ///
  /// Returns     null, with nothing begun, if this way can't: carry() is for another thread then
  /// Throws      as carry(): nothing has begun, or nothing is under way any more.
  virtual std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const {
    static_cast<void>(plan);
    static_cast<void>(request);
    return nullptr;
  }

protected:
  /// A copy has just been enqueued in `stream`: what is pending ends there. Waits for the copy if
  /// the driver can't mark that.
  void end_there(PendingCopy& pending, CUstream stream) const;

  const Driver& driver_;
};

/// By the CPU's stores and loads through a window.
class WindowCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
};

/// By the driver: between host and device, within a device and between devices; recorded in a
/// graph; and within the host's memory, which the CPU copies.
class DriverCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
  /// Null for what the stream can't order: downloads to pageable memory, and uploads from it whose
  /// source is read later.
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const override;
};

/// By the staging ring; by another, unless it is named, where there is no memory to pin.
class StagedCarrier final : public Carrier {
public:
  StagedCarrier(const Driver& driver, const Carrier& stand_in)
      : Carrier(driver), stand_in_(stand_in) {}
  void carry(const Plan& plan, const Request& request) const override;
  /// Only of uploads whose source is free on return.
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const override;

private:
  const Carrier& stand_in_;
};

/// By pinning the host's pages for the time of the copy.
class RegisteredCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
};

}  // namespace isthmus::transfer

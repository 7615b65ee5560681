// Makes a copy by the chosen path: one Carrier for each path.
#pragma once

#include <memory>

#include "driver/driver.hpp"
#include "transfer/plan/plan.hpp"
#include "transfer/request/pending_copy.hpp"

namespace isthmus::transfer {

/// Makes copies by one path. Stateless: may be used from any thread. A context of the plan's device
/// must be current.
class Carrier {
public:
  explicit Carrier(const Driver& driver) : driver_(driver) {}
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// Makes the copy, after the stream's work if the request is `ordered`; complete on return.
  ///
  /// Throws      UsageError if a mapped file has become shorter; OutOfDeviceMemory, DriverError:
  ///             then no part of the copy is running, or DriverError::memory_in_use() says that it
  ///             may be.
  virtual void carry(const Plan& plan, const Request& request) const = 0;

  /// True if begin() begins such a copy. Otherwise another thread must call carry().
  virtual bool can_begin(const Plan& plan, const Request& request) const noexcept {
    static_cast<void>(plan);
    static_cast<void>(request);
    return false;
  }
  /// Begins the copy in stream order, and returns as the request wants.
  ///
  /// Returns     null, with nothing begun, unless can_begin()
  /// Throws      as carry(): nothing has begun, or nothing is running any more.
  virtual std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const {
    static_cast<void>(plan);
    static_cast<void>(request);
    return nullptr;
  }

protected:
  /// Marks the end of `pending` in `stream`, where its copy has just been enqueued. If the driver
  /// can't mark it, waits for the copy.
  void end_there(PendingCopy& pending, CUstream stream) const;

  const Driver& driver_;
};

/// Copies by CPU stores and loads through a window.
class WindowCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
};

/// Copies by the driver: between host and device, within a device and between devices, and into a
/// graph. Copies within the host's memory are made by the CPU.
class DriverCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
  /// False for copies that the stream can't order: downloads to pageable memory, and uploads from it
  /// whose source is read later.
  bool can_begin(const Plan& plan, const Request& request) const noexcept override;
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const override;
};

/// Copies by the staging ring. If there is no memory to pin and the path wasn't named, the stand-in
/// makes the copy.
class StagedCarrier final : public Carrier {
public:
  StagedCarrier(const Driver& driver, const Carrier& stand_in)
      : Carrier(driver), stand_in_(stand_in) {}
  void carry(const Plan& plan, const Request& request) const override;
  /// Only for uploads whose source is free on return.
  bool can_begin(const Plan& plan, const Request& request) const noexcept override;
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const override;

private:
  void carry_without_ring(const Plan& plan, const Request& request) const;
  std::shared_ptr<PendingCopy> begin_without_ring(const Plan& plan, const Request& request) const;

  const Carrier& stand_in_;
};

/// Copies by pinning the host's pages during the copy.
class RegisteredCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
};

/// Makes many small copies by one launch of a kernel.
class KernelCarrier final : public Carrier {
public:
  using Carrier::Carrier;
  void carry(const Plan& plan, const Request& request) const override;
  /// False for downloads through staging memory: somebody must empty it.
  bool can_begin(const Plan& plan, const Request& request) const noexcept override;
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request) const override;
};

}  // namespace isthmus::transfer

// Copies between two memory layouts of an array.
#pragma once

#include <string>

#include <isthmus/transfer.hpp>

#include "driver/driver.hpp"
#include "transfer/movers/layouts.hpp"
#include "transfer/plan/devices.hpp"
#include "transfer/request/host_memory.hpp"

namespace isthmus::transfer {

/// Makes such copies. May be used from any thread.
class StridedCopies {
public:
  StridedCopies(const Driver& driver, const HostMemory& host_memory, Devices& devices)
      : driver_(driver), host_memory_(host_memory), devices_(devices) {}

  /// As Transfers::copy_strided().
  void copy(const StridedCopy& copy, const CopyOptions& options);
  /// As Transfers::check_strided().
  void check(const StridedCopy& copy, const CopyOptions& options);

private:
  struct Checked;
  Checked checked(const StridedCopy& copy, const CopyOptions& options);
  std::string kernel_obstacle(DevicePaths& paths, const Layouts& layouts);
  bool stage(const Checked& made, const StridedCopy& copy);
  void enqueue(const Checked& made, const StridedCopy& copy);

  const Driver& driver_;
  const HostMemory& host_memory_;
  Devices& devices_;
};

}  // namespace isthmus::transfer

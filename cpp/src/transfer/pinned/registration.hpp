// A caller's memory, pinned where it lies.
#pragma once

#include <cstddef>

#include "device/context.hpp"

namespace isthmus::transfer {

/// Pins exactly the caller's bytes for all devices, during its life. In a forked child it does
/// nothing more.
class Registration {
public:
  /// memory      [size_bytes], which stays mapped during the object's life
  /// read_only   nobody writes it: then its pages may be, too
  /// Throws      UsageError if some of it is pinned already; Unavailable, DriverError if it can't be
  ///             pinned
  Registration(const Context& context, void* memory, std::size_t size_bytes, bool read_only);
  /// As end(); what the driver refuses is reported.
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Unpins it once no device uses it any more: the driver waits for its work (seen on an H200 with
  /// CUDA 13.0). Does nothing the second time.
  ///
  /// Throws      DriverError: it stays pinned until the process ends
  void end();

private:
  CUresult unregister() noexcept;

  Context context_;
  void* memory_;
};

}  // namespace isthmus::transfer

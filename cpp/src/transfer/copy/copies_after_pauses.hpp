// Copies that a thread makes again, each after a pause.
#pragma once

#include <cstdint>

#include "driver/driver.hpp"
#include "transfer/carriers/carriers.hpp"
#include "transfer/copy/cold_lines.hpp"
#include "transfer/copy/devices.hpp"
#include "transfer/copy/host_memory.hpp"
#include "transfer/copy/plan.hpp"

namespace isthmus::transfer {

/// A copy that a thread has made by the driver after a pause.
struct CopyAfterPause;

/// Repeats copies whose best path was the driver's, after further pauses, some times each. A program
/// that waits between copies sends and fetches the same few buffers. After a pause nothing of
/// a copy's code is in the caches: to examine and plan one takes 8 us then, and the driver's call 20.
/// So all that such a copy needs is in one place, and is fetched together, and little code runs before
/// the call. Source: benchmarks/rhythms/README.md.
///
/// Only where there is one device: with several, an address may belong to another one by then. May
/// be used from any thread.
class CopiesAfterPauses {
public:
  CopiesAfterPauses(const Driver& driver, Devices& devices, const HostMemory& host_memory,
                    Carriers& carriers);

  /// Makes a copy that the calling thread has made before; complete on return. The driver copies
  /// whatever is at the device's address by now, or refuses.
  ///
  /// start_ns    when the call began, after a pause, by CopyPauses
  /// Returns     false, with nothing done: the copy must be examined
  /// Throws      DriverError, as copy_whole()
  bool copy(void* target, const void* source, std::size_t size_bytes, const Request& request,
            std::int64_t start_ns) const;

  /// Call after a plan was carried. Keeps the copy for the calling thread if it came after a pause
  /// and can be made by one call that is complete on return.
  void note(const Plan& plan, const Request& request) const;

  /// What copy() reads, and calls, wherever its copy is from.
  const ColdLines& cold_lines() const noexcept { return cold_lines_; }

private:
  void add_cold_lines() noexcept;
  bool is_as_before(const CopyAfterPause& known, const Request& request) const;

  const Driver& driver_;
  Devices& devices_;
  const HostMemory& host_memory_;
  Carriers& carriers_;
  const std::uint64_t identity_;
  ColdLines cold_lines_;
};

}  // namespace isthmus::transfer

// Callbacks during a run: for timelines, progress and interruption.
#pragma once

#include <cstdint>
#include <string>

#include "sim/time.hpp"

namespace isthmus::sim {

/// Something that lasted from `start_ps` to `end_ps`.
struct Span {
  Picoseconds start_ps = 0;
  Picoseconds end_ps = 0;
};

/// Observes a run. Every function may throw: that ends the run, and the exception propagates.
class Observer {
public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// Called from time to time, for signals and progress.
  virtual void poll(Picoseconds /*now_ps*/) {}
  virtual void launched(const std::string& /*kernel*/, Span /*span*/) {}
  virtual void cta_done(std::uint32_t /*core*/, std::uint32_t /*cta*/, Span /*span*/) {}
  /// A migration, from the request until all of it has arrived; `address` is the page's.
  virtual void migrated(std::uint64_t /*address*/, std::uint64_t /*size_bytes*/, Span /*span*/) {}
  /// The link to the GPU (or to the CPU) was busy.
  virtual void link_busy(bool /*to_gpu*/, std::uint64_t /*size_bytes*/, Span /*span*/) {}
  virtual void evicted(std::uint64_t /*address*/, std::uint64_t /*size_bytes*/, Span /*span*/) {}
};

}  // namespace isthmus::sim

// Callbacks during a run: for timelines, progress and interruption.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/result.hpp"
#include "sim/time.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Something that lasted from `start_ps` to `end_ps`.
struct Span {
  Picoseconds start_ps = 0;
  Picoseconds end_ps = 0;
};

/// What happens to the program's bytes, for statistics by allocation and page.
enum class Use : std::uint8_t {
  migrated,  ///< bytes that migrate to the GPU; they may reach over several allocations
  transfer,  ///< one of the transfers that bring them
  touched,   ///< a line's bytes, the first time that the GPU accesses it since it arrived
  waited,    ///< picoseconds for which a line's request waited for its migration
  evicted,   ///< bytes of the GPU's memory that make room
  in_place,  ///< a line's bytes, accessed in the CPU's memory
};
inline constexpr std::size_t kNumUses = 6;

/// Observes a run. Every function may throw: that ends the run, and the exception propagates.
class Observer {
public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// Called from time to time, for signals and progress.
  virtual void poll(Picoseconds /*now_ps*/) {}
  /// What has been counted so far; called as often as poll().
  virtual void counted(Picoseconds /*now_ps*/, const Result& /*so_far*/) {}
  /// A launch of the program has ended, for which this was counted.
  virtual void launched(std::uint32_t /*launch*/, const trace::Launch& /*kernel*/, Span /*span*/,
                        const Counts& /*counts*/) {}
  virtual void cta_done(std::uint32_t /*core*/, std::uint32_t /*cta*/, Span /*span*/) {}
  /// A migration, from the request until all of it has arrived; `address` is the page's.
  virtual void migrated(std::uint64_t /*address*/, std::uint64_t /*size_bytes*/, Span /*span*/) {}
  /// The link to the GPU (or to the CPU) was busy.
  virtual void link_busy(bool /*to_gpu*/, std::uint64_t /*size_bytes*/, Span /*span*/) {}
  /// `amount` is in bytes from `address` on, or what `Use` says.
  virtual void used(Use /*use*/, std::uint64_t /*address*/, std::uint64_t /*amount*/) {}
  virtual void evicted(std::uint64_t /*address*/, std::uint64_t /*size_bytes*/, Span /*span*/) {}
};

}  // namespace isthmus::sim

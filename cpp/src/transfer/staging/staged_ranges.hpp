// The memory of a staged copy: one range, or many that share the slots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "driver/driver.hpp"
#include "host/memory/pages.hpp"
#include "transfer/staging/host_ends.hpp"
#include "transfer/staging/piece_plan.hpp"
#include "transfer/staging/slot_crossing.hpp"

namespace isthmus::transfer {

/// A range of the device's memory and the host's end of it. One of `source` and `target` is null,
/// or both if a SlotFiller is the host's end.
struct StagedRange {
  CUdeviceptr device = 0;  ///< with a SlotCrossing: 0
  std::size_t size_bytes = 0;
  const PartSource* source = nullptr;
  const MemoryTarget* target = nullptr;
  std::size_t begin = 0;  ///< its first byte, counted as the job counts its bytes
};

/// Some bytes of a range.
struct Fragment {
  const StagedRange* range = nullptr;
  std::size_t offset_bytes = 0;  ///< in the range
  std::size_t size_bytes = 0;

  /// Its first byte, counted as the job counts its bytes.
  std::size_t begin() const noexcept { return range->begin + offset_bytes; }
  CUdeviceptr device() const noexcept { return range->device + offset_bytes; }
};

/// Ranges one after the other. A job counts its bytes through all of them, and also through gaps
/// between them, which nobody copies: so each range begins as its memory is aligned.
class StagedRanges {
public:
  /// One range of memory and device.
  ///
  /// crossing    null: the driver's copies move slots
  explicit StagedRanges(const StagedRange& only, const SlotCrossing* crossing = nullptr)
      : ranges_{only}, crossing_(crossing) {}
  /// None yet.
  ///
  /// address     that of byte 0 of the job, for alignment
  explicit StagedRanges(std::size_t address) : address_(address) {}

  /// Appends a range.
  ///
  /// address     is aligned: (address of byte 0 + range's begin) and it are equal modulo `grain`
  /// grain_bytes a power of two
  void add(StagedRange range, std::size_t address, std::size_t grain_bytes) {
    if (!ranges_.empty()) {
      const std::size_t free = address_ + size_bytes() + host::kLineBytes;
      range.begin = free + ((address - free) & (grain_bytes - 1)) - address_;
    }
    ranges_.push_back(range);
  }

  const std::vector<StagedRange>& all() const noexcept { return ranges_; }
  const SlotCrossing* crossing() const noexcept { return crossing_; }
  /// Counted as the job does: with the gaps.
  std::size_t size_bytes() const noexcept {
    return ranges_.empty() ? 0 : ranges_.back().begin + ranges_.back().size_bytes;
  }

  /// Calls `use(Fragment)` for each range's share of some of the job's bytes, in order.
  template <typename Use>
  void each_in(const Piece& bytes, Use use) const {
    const std::size_t end = bytes.begin + bytes.size_bytes;
    auto range = std::ranges::upper_bound(ranges_, bytes.begin, {}, &StagedRange::begin);
    if (range != ranges_.begin()) --range;
    for (; range != ranges_.end() && range->begin < end; ++range) {
      const std::size_t first = std::max(bytes.begin, range->begin);
      const std::size_t last = std::min(end, range->begin + range->size_bytes);
      if (first < last) use(Fragment{&*range, first - range->begin, last - first});
    }
  }

  /// The offset of a fragment in the slot of its piece. The slot's and the device's addresses are
  /// equally aligned. The gaps before each range keep fragments apart.
  static std::size_t place_of(const Fragment& fragment, const Piece& piece) noexcept {
    const StagedRange& range = *fragment.range;
    const std::size_t lead = (range.device - range.begin + piece.begin) % host::kLineBytes;
    return lead + fragment.begin() - piece.begin;
  }

private:
  std::size_t address_ = 0;
  std::vector<StagedRange> ranges_;
  const SlotCrossing* crossing_ = nullptr;
};

}  // namespace isthmus::transfer

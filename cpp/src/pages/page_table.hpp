// All pages of a GPU's memory: what each access finds, and what it makes move. No time, no copying.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pages/block_arena.hpp"
#include "pages/page.hpp"
#include "pages/page_index.hpp"
#include "pages/policy.hpp"

namespace isthmus::pages {

/// What a request finds. Slots are small numbers, dense enough to index arrays with: they stay for
/// as long as the table does.
struct Answer {
  Outcome outcome = Outcome::hit;
  std::uint32_t slot = 0;
  std::uint32_t epoch = 0;            ///< of `transfers`, for PageTable::arrived
  std::span<const Span> transfers{};  ///< what is to move; valid until the next request
};

/// Pages by number, made when first asked for. All data starts on the CPU.
///
/// Each request is answered for the page as it is then: whoever waits asks again when something of
/// the page has arrived. A hit takes a look-up and a test, and allocates nothing.
///
/// Measured    benchmarks/sim/pages.cpp
class PageTable {
public:
  /// Throws      UsageError as check(policy) does.
  explicit PageTable(const MigrationPolicy& policy);

  /// What the GPU's access to [address, address + length_bytes) finds.
  ///
  ///   hit      it is in the GPU's memory
  ///   wait     all of it is on its way
  ///   migrate  `transfers` are to start, and the request waits
  ///   remote   it is served over the link, nobody waits; `transfers` may be to start all the same
  ///
  /// Each transfer is counted as under way from now on: arrived() must follow for every one, unless
  /// the page has gone back to the CPU in between.
  ///
  /// address       of the first byte
  /// length_bytes  > 0, within one page
  /// Throws      UsageError if it isn't.
  Answer request(std::uint64_t address, std::uint32_t length_bytes, bool is_write) {
    const std::uint32_t page_bytes = geometry_.policy.page_bytes;
    const auto offset = static_cast<std::uint32_t>(address & (page_bytes - 1));
    // Wraps around for a length of 0.
    if (length_bytes - 1 >= page_bytes - offset) refuse(address, length_bytes);
    const std::uint32_t slot = slot_of(page_number_of(address));
    const Span wanted{offset, length_bytes};
    if (is_valid(slot, wanted)) return {Outcome::hit, slot, 0, {}};
    return miss(slot, wanted, is_write);
  }

  /// Marks a transfer's bytes as valid.
  ///
  /// epoch       Answer's: a transfer that was on its way when its page went back to the CPU
  ///             changes nothing
  /// Returns     false if nothing has become valid: it came too late, or (single_gap valid) it
  ///             doesn't touch the range; requests that waited for it ask again.
  bool arrived(std::uint32_t slot, std::uint32_t epoch, Span transfer);

  /// The CPU's access to a page: it is the CPU's again, whatever it was, and its ranges are gone.
  ///
  /// Returns     bytes that go back over the link: those that were valid.
  std::uint32_t cpu_request(std::uint64_t page_number);

  /// Takes part of a page from the GPU, to make room.
  ///
  /// slot        with nothing under way
  /// Returns     bytes that go back over the link.
  std::uint32_t evict(std::uint32_t slot, Span part);

  /// Makes pages the GPU's without any transfer: data a programmer copied, or an ideal machine's.
  void make_resident(std::uint64_t address, std::uint64_t size_bytes);

  /// True if all of `span`, which isn't empty, is in the GPU's memory.
  bool is_valid(std::uint32_t slot, Span span) const {
    if ((whole_[slot / kWordBits] >> (slot % kWordBits) & 1U) != 0) return true;
    const Page& page = pages_[slot];
    if (page.block == kNoBlock) return false;
    const std::uint64_t* const valid = blocks_[page.block] + geometry_.bitmap_words;
    const std::uint32_t first = span.offset_bytes >> geometry_.granule_shift;
    const std::uint32_t last = (span.end_bytes() - 1) >> geometry_.granule_shift;
    if (first != last) return all_ones(valid, first, last + 1);
    return (valid[first / kWordBits] >> (first % kWordBits) & 1U) != 0;
  }

  State state(std::uint32_t slot) const { return state_of(pages_[slot], geometry_); }
  const Page& page(std::uint32_t slot) const { return pages_[slot]; }
  std::uint64_t page_number(std::uint32_t slot) const { return index_.page_number(slot); }
  std::uint64_t page_number_of(std::uint64_t address) const {
    return address >> geometry_.page_shift;
  }
  /// The page's slot, which is made if there is none.
  std::uint32_t slot_of(std::uint64_t page_number) {
    const std::uint32_t slot = index_.slot_of(page_number);
    if (slot >= pages_.size()) grow();
    return slot;
  }

  /// Slots are below this; of them some may belong to pages never asked for.
  std::uint32_t num_slots() const { return static_cast<std::uint32_t>(pages_.size()); }
  /// The valid ranges of a page, in order.
  std::vector<Span> ranges(std::uint32_t slot) const;
  std::uint32_t num_ranges(std::uint32_t slot) const;

  std::uint64_t valid_bytes() const { return valid_bytes_; }       ///< in the GPU's memory
  std::uint64_t resident_bytes() const { return planned_bytes_; }  ///< those, and on their way
  const MigrationPolicy& policy() const { return geometry_.policy; }

private:
  class Change;

  Answer miss(std::uint32_t slot, Span wanted, bool is_write);
  std::uint32_t clear(std::uint32_t slot);
  template <class Run>
  void for_each_range(std::uint32_t slot, Run run) const;
  void grow();
  void note_whole(std::uint32_t slot);
  [[noreturn]] void refuse(std::uint64_t address, std::uint32_t length_bytes) const;

  Geometry geometry_;
  PageIndex index_;
  std::vector<Page> pages_;
  std::vector<std::uint64_t> whole_;  ///< a bit for each slot: small enough for a cache
  BlockArena blocks_;
  std::vector<Span> transfers_;
  std::uint64_t valid_bytes_ = 0;
  std::uint64_t planned_bytes_ = 0;
};

}  // namespace isthmus::pages

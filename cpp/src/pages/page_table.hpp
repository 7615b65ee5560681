// All pages of a GPU's memory: the answer to each access, and the transfers it starts. No time, no
// copying.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pages/own_policy.hpp"
#include "pages/page.hpp"
#include "pages/page_index.hpp"
#include "pages/policy.hpp"

namespace isthmus::pages {

/// The words of pages that are neither entirely on the host nor entirely on the GPU: blocks of equal
/// length, addressed by number; freed ones are reused.
class WordArena {
public:
  explicit WordArena(std::uint32_t words_per_block) : stride_(words_per_block) {}

  /// Returns a block of zeros. Pointers to other blocks may become invalid.
  std::uint32_t allocate();
  void free(std::uint32_t block) { free_.push_back(block); }

  std::uint64_t* operator[](std::uint32_t block) {
    return words_.data() + static_cast<std::size_t>(block) * stride_;
  }
  const std::uint64_t* operator[](std::uint32_t block) const {
    return words_.data() + static_cast<std::size_t>(block) * stride_;
  }

private:
  std::uint32_t stride_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> free_;
};

/// The answer to a request. Slots are small, dense numbers, so that they can index arrays. They
/// remain valid as long as the table.
struct Answer {
  Outcome outcome = Outcome::hit;
  std::uint32_t slot = 0;
  std::uint32_t epoch = 0;            ///< of `transfers`, for PageTable::arrived
  std::span<const Span> transfers{};  ///< transfers to start; valid until the next request
};

/// Pages by number, created at the first request. All data starts on the host.
///
/// Each request gets the answer for the page's present state: a request that waits is repeated when
/// a part of the page has arrived. A hit takes a look-up and a test, and allocates nothing.
class PageTable {
public:
  /// own         decides for the kind `own`; outlives this
  /// Throws      what check(policy) throws; UsageError for the kind `own` without one.
  explicit PageTable(const MigrationPolicy& policy, OwnRun* own = nullptr);

  /// Answers a GPU access to [address, address + length_bytes).
  ///
  ///   hit      it is in the GPU's memory
  ///   wait     all of it is in flight
  ///   migrate  `transfers` must start, and the request waits
  ///   remote   it is served over the link without waiting; `transfers` may have to start too
  ///
  /// Each transfer counts as in flight from now on: arrived() must follow for every one, unless the
  /// page goes back to the host first. What an own policy throws passes through.
  ///
  /// address       of the first byte
  /// length_bytes  > 0, within one page
  /// Throws      UsageError if the access isn't within one page.
  Answer request(std::uint64_t address, std::uint32_t length_bytes, bool is_write) {
    const std::uint32_t page_bytes = geometry_.policy.page_bytes;
    const auto offset = static_cast<std::uint32_t>(address & (page_bytes - 1));
    // The subtraction wraps around for a length of 0.
    if (length_bytes - 1 >= page_bytes - offset) refuse(address, length_bytes);
    const std::uint32_t slot = slot_of(page_number_of(address));
    const Span wanted{offset, length_bytes};
    if (is_valid(slot, wanted)) return {Outcome::hit, slot, 0, {}};
    return miss(slot, wanted, is_write);
  }

  /// Marks a transfer's bytes as valid.
  ///
  /// epoch       of the Answer: if the page went back to the host meanwhile, the transfer changes
  ///             nothing
  /// Returns     false if nothing became valid: the transfer came too late, or (single_gap valid)
  ///             it doesn't touch the range; requests that waited for it are repeated.
  bool arrived(std::uint32_t slot, std::uint32_t epoch, Span transfer);

  /// A CPU access to a page: the page goes back to the host, whatever its state, and its ranges are
  /// cleared.
  ///
  /// Returns     bytes that migrate back over the link: the valid ones.
  std::uint32_t cpu_request(std::uint64_t page_number);

  /// Evicts part of a page from the GPU.
  ///
  /// slot        with nothing in flight
  /// Returns     bytes that migrate back over the link.
  std::uint32_t evict(std::uint32_t slot, Span part);

  /// Makes pages resident on the GPU without any transfer: for data that a program copied, or an
  /// ideal machine.
  void make_resident(std::uint64_t address, std::uint64_t size_bytes);

  /// True if all of `span`, which isn't empty, is resident on the GPU.
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
  /// The page's slot; created if there is none.
  std::uint32_t slot_of(std::uint64_t page_number) {
    const std::uint32_t slot = index_.slot_of(page_number);
    if (slot >= pages_.size()) grow();
    return slot;
  }

  /// All slots are below this; some belong to pages that were never requested.
  std::uint32_t num_slots() const { return static_cast<std::uint32_t>(pages_.size()); }
  /// The valid ranges of a page, in order.
  std::vector<Span> ranges(std::uint32_t slot) const;
  std::uint32_t num_ranges(std::uint32_t slot) const;

  std::uint64_t valid_bytes() const { return valid_bytes_; }       ///< resident on the GPU
  std::uint64_t resident_bytes() const { return planned_bytes_; }  ///< those, and bytes in flight
  const MigrationPolicy& policy() const { return geometry_.policy; }

private:
  class Change;

  Answer miss(std::uint32_t slot, Span wanted, bool is_write);
  Outcome ask_own(std::uint32_t slot, Span wanted, bool is_write);
  std::uint32_t clear(std::uint32_t slot);
  template <class Run>
  void for_each_range(std::uint32_t slot, Run run) const;
  void grow();
  void note_whole(std::uint32_t slot);
  [[noreturn]] void refuse(std::uint64_t address, std::uint32_t length_bytes) const;

  Geometry geometry_;
  OwnRun* own_;
  PageIndex index_;
  std::vector<Page> pages_;
  std::vector<std::uint64_t> whole_;  ///< one bit for each slot: small enough for a cache
  WordArena blocks_;
  std::vector<Span> transfers_;
  std::uint64_t valid_bytes_ = 0;
  std::uint64_t planned_bytes_ = 0;
};

}  // namespace isthmus::pages

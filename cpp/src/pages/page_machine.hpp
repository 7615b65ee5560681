// The state machine of one page: what a request migrates, and what an arrival makes valid.
#pragma once

#include "pages/access_counter.hpp"
#include "pages/page.hpp"
#include "pages/policy.hpp"
#include "pages/prefetch_tree.hpp"
#include "pages/range_list.hpp"
#include "pages/span.hpp"

namespace isthmus::pages {

/// What a policy requests when the GPU accesses `lines` of a page: those, their units, or the page.
inline Span asked_for(const MigrationPolicy& policy, Span lines) {
  if (policy.kind == PolicyKind::whole_page) return {0, policy.page_bytes};
  const bool may_be_lines =
      policy.kind == PolicyKind::single_range || policy.kind == PolicyKind::ranges;
  if (may_be_lines && policy.request == RequestedLength::line) return lines;
  return aligned(lines, policy.unit_bytes);
}

/// `asked` and the prefetch_bytes behind it, up to the end of the page.
inline Span with_following(const MigrationPolicy& policy, Span asked) {
  const std::uint32_t room_bytes = policy.page_bytes - asked.end_bytes();
  const std::uint32_t more_bytes =
      policy.prefetch_bytes < room_bytes ? policy.prefetch_bytes : room_bytes;
  return {asked.offset_bytes, asked.length_bytes + more_bytes};
}

/// The block around `asked` that migrates: a unit that doubles next to what is there, and halves
/// elsewhere.
///
/// units           those resident or requested: a UnitBitmap, or what tests like one
/// granule_shift   log2 of the bytes of one bit
/// num_granules    in a page
/// doublings       of the unit so far; changed
template <class Units, class Count>
Span adapted(const MigrationPolicy& policy, const Units& units, std::uint32_t granule_shift,
             std::uint32_t num_granules, Count& doublings, Span asked) {
  const std::uint32_t first = asked.offset_bytes >> granule_shift;
  const std::uint32_t end = asked.end_bytes() >> granule_shift;
  const bool beside =
      (first > 0 && units.test(first - 1)) || (end < num_granules && units.test(end));
  if (beside && (policy.unit_bytes << doublings) < policy.max_unit_bytes)
    doublings += 1;
  else if (!beside && doublings > 0)
    doublings -= 1;
  return aligned(asked, policy.unit_bytes << doublings);
}

/// A page with its words. Its functions call `start` with each Span that starts to migrate.
class PageMachine {
public:
  /// words       geometry.num_words of them; zero_copy needs none
  PageMachine(const Geometry& geometry, Page& page, std::uint64_t* words)
      : geometry_(geometry),
        policy_(geometry.policy),
        page_(page),
        words_(words),
        planned_(words),
        valid_(words + geometry.bitmap_words) {}

  /// A request of the GPU for `bytes` of the page that aren't all valid.
  template <class Start>
  Outcome miss(Span bytes, bool is_write, Start start) {
    if (policy_.kind == PolicyKind::zero_copy) return Outcome::remote;
    const Span lines = aligned(bytes, granule_bytes());
    if (policy_.kind == PolicyKind::access_counter) return counted(lines, start);
    if (is_write && policy_.write == WriteMiss::validate && lines == bytes && can_join(lines))
      return written(lines, start);
    if (policy_.merge && all(planned_, lines)) return Outcome::wait;
    return migrated(asked_for(policy_, lines), start);
  }

  /// A transfer has arrived. Returns false if nothing became valid.
  bool arrived(Span transfer) {
    if (!can_join(transfer)) {
      forget(transfer);
      return false;
    }
    if (keeps_valid_range()) range().add(transfer);
    return make_valid(transfer);
  }

  /// What an own policy brings for a request that miss() has answered with `migrate`.
  template <class Start>
  void bring(Span region, Span asked, Start start) {
    take(region, overlap(asked, region), start);
  }

  /// Evicts `part`. Returns how many of its bytes were valid.
  std::uint32_t evict(Span part) {
    const std::uint32_t bytes = bytes_of(valid_.clear(first_of(part), end_of(part)));
    page_.valid_bytes -= bytes;
    page_.planned_bytes -= bytes_of(planned_.clear(first_of(part), end_of(part)));
    return bytes;
  }

  /// Restores the bits of a page that was entirely on the GPU and had none.
  void restore() {
    planned_.set(0, geometry_.num_granules);
    valid_.set(0, geometry_.num_granules);
  }

private:
  bool make_valid(Span span) {
    page_.planned_bytes += bytes_of(planned_.set(first_of(span), end_of(span)));
    const std::uint32_t bytes = bytes_of(valid_.set(first_of(span), end_of(span)));
    page_.valid_bytes += bytes;
    return bytes != 0;
  }

  // --- what moves ------------------------------------------------------------------------------

  template <class Start>
  Outcome migrated(Span asked, Start start) {
    switch (policy_.kind) {
      case PolicyKind::single_range:
        take(grown_range(asked), asked, start);
        break;
      case PolicyKind::ranges:
        return taken(ranges().add(asked), asked, start);
      case PolicyKind::tree:
      case PolicyKind::tree_units:
        take_subtrees(asked, start);
        break;
      case PolicyKind::sequential:
        take(with_following(policy_, asked), asked, start);
        break;
      case PolicyKind::adaptive:
        take(adapted(asked), asked, start);
        break;
      case PolicyKind::own:
        break;
      default:
        take(asked, asked, start);
        break;
    }
    return Outcome::migrate;
  }

  /// A write of whole lines: they need no fetch. A gap between them and a range does.
  template <class Start>
  Outcome written(Span lines, Start start) {
    Growth growth{lines, {}, false};
    if (policy_.kind == PolicyKind::single_range) growth.grown = range().add(lines);
    if (policy_.kind == PolicyKind::ranges) growth = ranges().add(lines);
    if (growth.refused) return Outcome::remote;
    make_valid(lines);
    const std::uint32_t before = page_.under_way;
    taken(growth, {}, start);
    return page_.under_way == before ? Outcome::hit : Outcome::migrate;
  }

  template <class Start>
  Outcome taken(const Growth& growth, Span asked, Start start) {
    if (growth.refused) return Outcome::remote;
    take(growth.grown, asked, start);
    take(growth.filled, asked, start);
    return Outcome::migrate;
  }

  /// Starts what part of `region` isn't in flight yet. Requests that don't merge start again
  /// everything that hasn't arrived.
  template <class Start>
  void take(Span region, Span asked, Start start) {
    const bool anew = keeps_valid_range();
    const auto missing = [&](std::uint32_t index) {
      const std::uint64_t absent = ~valid_.word(index);
      if (anew) return absent;
      const std::uint64_t unplanned = ~planned_.word(index);
      if (policy_.merge) return unplanned;
      return unplanned | (absent & word_mask(index, first_of(asked), end_of(asked)));
    };
    for_each_run(first_of(region), end_of(region), missing,
                 [&](std::uint32_t first, std::uint32_t end) {
                   page_.under_way += 1;
                   start(span_between(bytes_of(first), bytes_of(end)));
                 });
    page_.planned_bytes += bytes_of(planned_.set(first_of(region), end_of(region)));
  }

  /// Requests units one after the other, as if each had faulted.
  template <class Start>
  void take_subtrees(Span asked, Start start) {
    const std::uint32_t leaf_bytes =
        policy_.kind == PolicyKind::tree ? policy_.grow_bytes : policy_.unit_bytes;
    const Span leaves = aligned(asked, leaf_bytes);
    std::uint32_t done_bytes = asked.offset_bytes;
    for (std::uint32_t at = leaves.offset_bytes; at < leaves.end_bytes(); at += leaf_bytes) {
      const Span leaf{at, leaf_bytes};
      const UnitRun subtree =
          largest_subtree(planned_, geometry_.num_granules, {first_of(leaf), end_of(leaf)},
                          policy_.tree_threshold_percent);
      const Span region = span_between(bytes_of(subtree.first), bytes_of(subtree.end));
      // A part that an earlier leaf brought along isn't requested again.
      const bool is_beyond = region.end_bytes() > done_bytes;
      const Span beyond = is_beyond ? span_between(done_bytes, region.end_bytes()) : Span{};
      take(region, overlap(asked, beyond), start);
      done_bytes += beyond.length_bytes;
    }
  }

  /// Served remotely; the last access before the threshold makes the counter's touched units
  /// migrate.
  template <class Start>
  Outcome counted(Span lines, Start start) {
    if (all(planned_, lines)) return Outcome::wait;
    const std::uint32_t which = lines.offset_bytes / policy_.counter_bytes;
    const std::uint32_t base_bytes = which * policy_.counter_bytes;
    const std::uint32_t unit = (lines.offset_bytes - base_bytes) / policy_.unit_bytes;
    AccessCounter counter(&words_[geometry_.counters_at + which]);
    if (counter.count(unit) < policy_.counter_threshold) return Outcome::remote;
    const std::uint64_t touched = counter.reset();
    for_each_run(
        0, kUnitsPerCounter, [&](std::uint32_t) { return touched; },
        [&](std::uint32_t first, std::uint32_t end) {
          const Span units{base_bytes + first * policy_.unit_bytes,
                           (end - first) * policy_.unit_bytes};
          take(units, {}, start);
        });
    return Outcome::remote;
  }

  // --- how much of the page --------------------------------------------------------------------

  Span grown_range(Span asked) {
    return keeps_valid_range() ? range().grown(asked) : range().add(asked);
  }

  /// Blocks double while requests are next to resident bytes, and halve otherwise.
  Span adapted(Span asked) {
    return pages::adapted(policy_, planned_, geometry_.granule_shift, geometry_.num_granules,
                          page_.doublings, asked);
  }

  // --- the one range that holds only what has arrived --------------------------------------------

  bool keeps_valid_range() const {
    return policy_.kind == PolicyKind::single_range && policy_.single_gap == SingleGap::valid;
  }

  bool can_join(Span span) const { return !keeps_valid_range() || range().joins(span); }

  /// A request that can't be recorded is treated as never made.
  void forget(Span transfer) {
    for_each_run(
        first_of(transfer), end_of(transfer),
        [&](std::uint32_t index) { return planned_.word(index) & ~valid_.word(index); },
        [&](std::uint32_t first, std::uint32_t end) {
          page_.planned_bytes -= bytes_of(planned_.clear(first, end));
        });
  }

  // --- words -----------------------------------------------------------------------------------

  SingleRange range() const { return SingleRange(spans()); }
  RangeList ranges() const {
    const RangeRules rules{policy_.page_bytes, policy_.gap_bytes, policy_.max_ranges,
                           policy_.overflow};
    return {spans(), &page_.num_ranges, rules};
  }
  Span* spans() const { return reinterpret_cast<Span*>(words_ + geometry_.spans_at); }

  std::uint32_t granule_bytes() const { return 1U << geometry_.granule_shift; }
  std::uint32_t bytes_of(std::uint32_t granules) const {
    return granules << geometry_.granule_shift;
  }
  std::uint32_t first_of(Span span) const { return span.offset_bytes >> geometry_.granule_shift; }
  std::uint32_t end_of(Span span) const { return span.end_bytes() >> geometry_.granule_shift; }
  bool all(const UnitBitmap& bits, Span span) const {
    return bits.all(first_of(span), end_of(span));
  }

  const Geometry& geometry_;
  const MigrationPolicy& policy_;
  Page& page_;
  std::uint64_t* words_;
  UnitBitmap planned_;
  UnitBitmap valid_;
};

}  // namespace isthmus::pages

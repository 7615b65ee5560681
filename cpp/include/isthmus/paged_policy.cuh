// What a policy does on a miss: the group of lanes claims further units of the page, and fetches them.
//
// The needed units were fetched and published before, and those that are claimed here are published
// before any lane waits. So which units a policy names is advice: whatever it says, each unit is
// fetched by who claimed it, once. The decision is the simulator's code (isthmus/pages); it reads which
// units were claimed, and other warps may claim more meanwhile.
#pragma once

#include <isthmus/paged_machine.cuh>

namespace isthmus::paged {

/// What is claimed at once of what comes along: so much that a warp is busy for a while, and so little
/// that several warps share a page.
constexpr unsigned kClaimedBytes = 16384;

/// The claimed units of a page, as a policy reads them.
template <typename Machine>
class claimed_units {
public:
  ISTHMUS_PAGED_CODE claimed_units(const Machine& machine, const paged_map& map,
                                   unit_number first_unit)
      : machine_(machine), map_(map), first_word_(first_unit / 32) {}

  ISTHMUS_PAGED_CODE number word(unsigned index) const {
    return number(half(2 * index + 1)) << 32U | half(2 * index);
  }
  ISTHMUS_PAGED_CODE bool test(unsigned unit) const {
    return (half(unit / 32) >> (unit % 32) & 1U) != 0;
  }
  ISTHMUS_PAGED_CODE unsigned count(unsigned first, unsigned end) const {
    unsigned ones = 0;
    for (unsigned index = first / 64; index * 64 < end; index++)
      ones += pages::num_ones(word(index) & pages::word_mask(index, first, end));
    return ones;
  }

private:
  ISTHMUS_PAGED_CODE paged::word half(unsigned index) const {
    const number at = number(first_word_) + index;
    return at * 32 < map_.num_units() ? machine_.relaxed(map_.busy + at) : 0;
  }

  const Machine& machine_;
  const paged_map& map_;
  const unsigned first_word_;
};

ISTHMUS_PAGED_CODE unsigned units_of_page(const paged_map& map) {
  return map.policy.page_bytes >> map.unit_shift;
}

/// Which spans of its page are to be there, for one lane. Gives how many.
template <typename Machine>
ISTHMUS_PAGED_CODE unsigned decide(const Machine& machine, const paged_map& map, unit_number unit,
                                   pages::Span* spans) {
  const unsigned page = unit / units_of_page(map);
  const unit_number first = page * units_of_page(map);
  const claimed_units<Machine> claimed(machine, map, first);
  const pages::Extension<claimed_units<Machine>> extension(map.policy, claimed, map.unit_shift);
  const pages::Span lines{(unit - first) << map.unit_shift, 1U << map.unit_shift};
  const word before = map.doublings == nullptr ? 0 : machine.relaxed(map.doublings + page);
  word doublings = before;
  const unsigned num_spans = extension.of(lines, doublings, spans);
  if (doublings != before) machine.exchange(map.doublings + page, doublings);
  return num_spans;
}

/// Bits of `units` in a word of the maps that has one of them.
ISTHMUS_PAGED_CODE word bits_of_word(unsigned index, const unit_run& units) {
  word bits = ~word(0);
  if (units.begin / 32 == index) bits &= ~word(0) << (units.begin & 31U);
  if (units.end / 32 == index) bits &= (word(1) << (units.end & 31U)) - 1;
  return bits;
}

/// Those of `left` that are claimed next: of an aligned block of kClaimedBytes.
ISTHMUS_PAGED_CODE word next_claim(const paged_map& map, word left) {
  const unsigned width = kClaimedBytes >> map.unit_shift;
  if (width >= 32) return left;
  const unsigned first = pages::lowest_one(left) / width * width;
  return left & ((word(1) << width) - 1) << first;
}

/// Claims what nobody has of `units`, all lanes of `mask` together, and fetches and publishes it;
/// begins with the word of `from`, one of them.
template <typename Machine>
ISTHMUS_PAGED_CODE void claim_all(const Machine& machine, const paged_map& map,
                                  typename Machine::lanes mask, const unit_run& units,
                                  unit_number from) {
  const unsigned num_words = (units.end + 31) / 32 - units.begin / 32;
  for (unsigned i = 0; i < num_words; i += machine.count(mask)) {
    const unsigned turn = i + machine.rank(mask);
    unsigned index = from / 32 + turn;
    if (index >= units.begin / 32 + num_words) index -= num_words;
    word wanted = 0;
    if (turn < num_words)
      wanted = bits_of_word(index, units) & ~machine.relaxed(map.busy + index);
    for (;;) {
      const auto left = machine.ballot(mask, wanted != 0);
      if (left == 0) break;
      const unsigned owner = machine.lowest(left);
      const bool owns = machine.lane() == owner;
      word won = 0;
      if (owns) {
        won = next_claim(map, wanted);
        wanted &= ~won;
        won &= ~machine.or_relaxed(map.busy + index, won);
      }
      const word its_won = machine.from_lane(mask, won, owner);
      if (its_won == 0) continue;
      machine.fetch_word(map, mask, machine.from_lane(mask, index, owner) * 32, its_won);
      machine.sync(mask);
      if (owns) {
        machine.or_release(map.valid + index, won);
        machine.add(map.counters + kFetched, pages::num_ones(won));
      }
      machine.sync(mask);
    }
  }
}

/// Brings what comes along with the units of the lanes in `asking`, all lanes of `mask` together.
template <typename Machine>
ISTHMUS_PAGED_CODE void bring_along(const Machine& machine, const paged_map& map,
                                    typename Machine::lanes mask, typename Machine::lanes asking,
                                    unit_number unit) {
  while (asking != 0) {
    const unsigned leader = machine.lowest(asking);
    asking &= asking - 1;
    pages::Span spans[pages::kMostRanges + 1];
    unsigned num_spans = 0;
    if (machine.lane() == leader) num_spans = decide(machine, map, unit, spans);
    num_spans = machine.from_lane(mask, num_spans, leader);
    const unit_number asked = machine.from_lane(mask, unit, leader);
    const unit_number first = asked / units_of_page(map) * units_of_page(map);
    for (unsigned i = 0; i < num_spans; i++) {
      const pages::Span span = spans[i];
      unit_run units{machine.from_lane(mask, span.offset_bytes >> map.unit_shift, leader) + first,
                     machine.from_lane(mask, span.end_bytes() >> map.unit_shift, leader) + first};
      const auto num_units = unit_number(map.num_units());
      if (units.end > num_units) units.end = num_units;
      asking &= ~machine.ballot(mask, units.begin <= unit && unit < units.end);  // they come along
      const bool is_here = units.begin <= asked && asked < units.end;
      claim_all(machine, map, mask, units, is_here ? asked : units.begin);
    }
  }
}

}  // namespace isthmus::paged

namespace isthmus {

template <typename Machine>
ISTHMUS_PAGED_CODE void paged_map::bring_along(const Machine& machine,
                                               typename Machine::lanes mask,
                                               typename Machine::lanes chosen,
                                               unsigned int unit) const {
  if (pages::extends(policy, 1U << unit_shift))
    paged::bring_along(machine, *this, mask, chosen, unit);
}

}  // namespace isthmus

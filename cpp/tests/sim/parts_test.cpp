// The event queue, the cache sets, the TLB and the link separately, compared with simple versions
// of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <queue>
#include <random>
#include <set>

#include "sim/cores/cache_sets.hpp"
#include "sim/cores/schedule.hpp"
#include "sim/link.hpp"
#include "sim/migration/address_map.hpp"
#include "sim/migration/residency.hpp"

namespace isthmus::sim {
namespace {

TEST(TheEventQueue, GivesEventsInTheOrderOfTimeAndSequence) {
  std::mt19937_64 generator(1);
  EventQueue queue;
  using Key = std::pair<Picoseconds, std::uint64_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> plain;
  Picoseconds now = 0;
  std::uint64_t next = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (plain.empty() || (generator() % 100 < 52 && plain.size() < 5000)) {
      // Now, soon, within the wheel, and far beyond it.
      const std::uint64_t reaches[] = {1, 3000, 4'000'000, 500'000'000};
      const Picoseconds time = now + generator() % reaches[generator() % 4];
      queue.push({time, next, static_cast<std::uint32_t>(next % 7)});
      plain.emplace(time, next++);
    } else {
      const Event event = queue.pop();
      ASSERT_EQ(event.time_ps, plain.top().first);
      ASSERT_EQ(event.payload, plain.top().second);
      ASSERT_EQ(event.what, event.payload % 7);
      now = event.time_ps;
      plain.pop();
    }
    ASSERT_EQ(queue.size(), plain.size());
  }
}

void compare_with_plain_lru(std::uint32_t entries, std::uint32_t ways) {
  std::mt19937_64 generator(entries + ways);
  Lookaside tlb(entries, ways);
  const std::uint32_t num_sets = ways == 0 ? 1 : entries / ways;
  std::vector<std::list<std::uint64_t>> plain(num_sets);
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t key = generator() % (entries * 2);
    auto& set = plain[key % num_sets];
    const auto found = std::ranges::find(set, key);
    ASSERT_EQ(tlb.find(key) != Lookaside::kAbsent, found != set.end());
    if (found != set.end()) {
      set.erase(found);
    } else {
      tlb.insert(key);
      if (set.size() == entries / num_sets) set.pop_back();
    }
    set.push_front(key);
  }
}

TEST(TheLookaside, IsAPlainLruList) {
  compare_with_plain_lru(1, 0);
  compare_with_plain_lru(16, 0);
  compare_with_plain_lru(16, 4);
  compare_with_plain_lru(16, 1);
  compare_with_plain_lru(12, 3);
}

/// A way of a set, in the simplest form.
struct PlainWay {
  std::uint64_t tag = 0;
  Picoseconds filled_ps = 0;
  std::uint64_t used = 0;
  bool holds = false;
  bool dirty = false;
};

/// The least recently used of the filled ways; the set's size if there is none.
std::size_t plain_oldest(const std::vector<PlainWay>& set, Picoseconds time_ps) {
  std::size_t oldest = set.size();
  for (std::size_t way = 0; way < set.size(); ++way) {
    if (set[way].filled_ps > time_ps) continue;
    if (oldest == set.size() || set[way].used < set[oldest].used) oldest = way;
  }
  return oldest;
}

void compare_with_plain_sets(std::size_t num_sets, std::uint32_t num_ways) {
  std::mt19937_64 generator(num_sets * num_ways);
  CacheSets sets(num_sets, num_ways, true);
  std::vector<std::vector<PlainWay>> plain(num_sets, std::vector<PlainWay>(num_ways));
  for (std::uint64_t now = 1; now <= 20'000; ++now) {
    const std::uint64_t tag = generator() % (num_sets * num_ways * 2);
    const std::size_t set = tag % num_sets;
    auto& ways = plain[set];
    const auto held = std::ranges::find_if(
        ways, [=](const PlainWay& way) { return way.holds && way.tag == tag; });
    std::size_t way = sets.find(set, tag);
    ASSERT_EQ(way != CacheSets::kNowhere, held != ways.end());
    if (way != CacheSets::kNowhere) {
      held->used = now;
      ASSERT_EQ(sets.filled_ps(way), held->filled_ps);
      ASSERT_EQ(sets.dirty(way), held->dirty);
      ASSERT_EQ(sets.note(way), tag);
      if (generator() % 8 == 0) {
        sets.drop(set, way);
        *held = {};
      } else if (generator() % 4 == 0) {
        sets.set_dirty(way);
        held->dirty = true;
      }
      continue;
    }
    way = sets.oldest_filled(set, now);
    const std::size_t oldest = plain_oldest(ways, now);
    ASSERT_EQ(way == CacheSets::kNowhere, oldest == ways.size());
    if (way == CacheSets::kNowhere) {
      ASSERT_GT(sets.first_fill_ps(set), now);
      continue;
    }
    ASSERT_EQ(sets.dirty(way), ways[oldest].dirty);
    const Picoseconds filled = now + generator() % (num_sets * num_ways * 2);
    sets.replace(set, way, tag, filled);
    sets.note(way) = tag;
    ways[oldest] = {tag, filled, now, true, false};
  }
}

TEST(TheCacheSets, ArePlainLruSetsOfLinesSomeOfWhichAreOnTheirWay) {
  compare_with_plain_sets(16, 4);
  compare_with_plain_sets(5, 8);
  compare_with_plain_sets(3, 6);
  compare_with_plain_sets(7, 1);
  compare_with_plain_sets(1, 1024);
}

TEST(TheLink, ServesOneAfterTheOtherAndAddsItsLatency) {
  LinkParameters parameters;
  parameters.bytes_per_s = 1'000'000'000;
  parameters.latency_ps = 50;
  Utilisation utilisation;
  HostLink link(parameters, utilisation, nullptr);
  EXPECT_EQ(link.to_gpu(1000, 10), 11'050U);
  EXPECT_EQ(link.to_gpu(2000, 10), 21'050U);
  EXPECT_EQ(link.to_cpu(2000, 10), 12'050U);
  EXPECT_EQ(link.to_gpu_busy_ps(), 20'000U);
}

TEST(TheLink, SharesOneServerWhenItIsHalfDuplex) {
  LinkParameters parameters;
  parameters.bytes_per_s = 1'000'000'000;
  parameters.half_duplex = true;
  Utilisation utilisation;
  HostLink link(parameters, utilisation, nullptr);
  EXPECT_EQ(link.to_gpu(0, 10), 10'000U);
  EXPECT_EQ(link.to_cpu(0, 10), 20'000U);
}

TEST(TheLink, TakesItsCostsFromACurve) {
  LinkParameters parameters;
  parameters.costs = {{1000, 500}, {2000, 700}, {4000, 1700}};
  Utilisation utilisation;
  HostLink link(parameters, utilisation, nullptr);
  EXPECT_EQ(link.cost_ps(500, true), 250U);
  EXPECT_EQ(link.cost_ps(1000, true), 500U);
  EXPECT_EQ(link.cost_ps(1500, true), 600U);
  EXPECT_EQ(link.cost_ps(3000, true), 1200U);
  EXPECT_EQ(link.cost_ps(8000, true), 3400U);
}

PlacedLine placed(AddressMap& map, std::uint64_t real_line) {
  PlacedLine place;
  map.place({&real_line, 1}, &place);
  return place;
}

TEST(TheAddressMap, GivesEachLineItsOwnNumberAndKeepsItsAddress) {
  ModelledMachine machine;
  for (const std::uint32_t partitions : {1U, 3U, 12U, 256U}) {
    machine.partitions.count = partitions;
    AddressMap map(machine, 2U << 20);
    std::mt19937_64 generator(partitions);
    std::vector<std::uint64_t> used(partitions, 0);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t line = (generator() % 64) << 30 | generator() % 40'000;
      const PlacedLine place = placed(map, line);
      ASSERT_EQ(map.real_line(place.line()), line);
      ASSERT_EQ(placed(map, line).bits, place.bits);
      ASSERT_LT(place.partition(), partitions);
      ++used[place.partition()];
    }
    EXPECT_GT(*std::ranges::min_element(used), 0U);
  }
}

TEST(TheAddressMap, SpreadsTheRowsOfTheHighestAddressesOverAllPartitions) {
  ModelledMachine machine;
  machine.network.partition_stripe_bytes = 128;
  for (const std::uint64_t partitions : {3U, 12U, 251U, 255U, 256U}) {
    machine.partitions.count = static_cast<std::uint32_t>(partitions);
    AddressMap map(machine, 2U << 20);
    const std::uint64_t last_row = trace::kAddressesEnd / 128 / partitions;
    for (std::uint64_t row = last_row - 50; row < last_row + 50; ++row) {
      std::set<std::uint32_t> used;
      for (std::uint64_t line = row * partitions; line < (row + 1) * partitions; ++line)
        used.insert(placed(map, line).partition());
      ASSERT_EQ(used.size(), partitions) << "row " << row;
      ASSERT_LT(*used.rbegin(), partitions);
    }
  }
}

TEST(TheAddressMap, FindsWhatWasPlacedInARangeOfAnySize) {
  constexpr std::uint64_t kChunkBytes = 2U << 20U;
  AddressMap map({}, 64U << 10U);
  for (const std::uint64_t chunk : {7, 3, 9000, 4}) placed(map, chunk * (kChunkBytes / 128) + 5);
  using Addresses = std::vector<std::uint64_t>;
  const auto chunks = [&](std::uint64_t begin, std::uint64_t end) {
    Addresses found = map.placed_chunks(begin, end);
    for (std::uint64_t& address : found) address /= kChunkBytes;
    return found;
  };
  EXPECT_EQ(chunks(0, std::uint64_t{1} << 57U), (Addresses{3, 4, 7, 9000}));
  EXPECT_EQ(chunks(3 * kChunkBytes, 4 * kChunkBytes), (Addresses{3}));
  EXPECT_EQ(chunks(4 * kChunkBytes - 1, 4 * kChunkBytes + 1), (Addresses{3, 4}));
  EXPECT_EQ(chunks(5 * kChunkBytes, 6 * kChunkBytes), Addresses{});
  EXPECT_EQ(chunks(4 * kChunkBytes, 9000 * kChunkBytes), (Addresses{4, 7}));
}

TEST(Residency, CountsTheTouchedBytesOfAnyRangeAsAByteByByteCountDoes) {
  std::mt19937_64 generator(3);
  AddressMap map({}, 64U << 10U);
  constexpr std::uint64_t kBase = 64U << 20U;
  constexpr std::uint64_t kChunk = 2U << 20U;
  for (const std::uint64_t chunk : {2, 0, 1}) placed(map, (kBase + chunk * kChunk) / 128);
  Residency residency(map);
  residency.grow([](std::uint32_t) { return true; }, true);
  std::set<std::uint64_t> touched;
  for (int i = 0; i < 600; ++i) {
    const std::uint64_t line = kBase / 128 + generator() % 400;
    residency.touch(placed(map, line).line());
    touched.insert(line);
  }
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t begin = kBase + generator() % 50'000;
    const std::uint64_t end = begin + 1 + generator() % 3000;
    std::uint64_t expected = 0;
    for (std::uint64_t at = begin; at < end; ++at) expected += touched.count(at / 128);
    ASSERT_EQ(residency.touched_bytes(begin, end), expected) << begin << " to " << end;
  }
  EXPECT_EQ(residency.touched_bytes(kBase - 1000, kBase + 3 * kChunk + 1000), 128 * touched.size());
  EXPECT_EQ(residency.touched_bytes(kBase, kBase), 0U);
}

TEST(TheAddressMap, SpreadsStridesOfPowersOfTwoOverAllPartitions) {
  const ModelledMachine machine;
  for (std::uint64_t stride = 2; stride <= 1U << 14; stride *= 2) {
    AddressMap map(machine, 2U << 20);
    std::vector<std::uint64_t> used(machine.partitions.count, 0);
    for (std::uint64_t i = 0; i < 4096; ++i) ++used[placed(map, i * stride).partition()];
    EXPECT_GT(*std::ranges::min_element(used), 100U) << stride;
  }
}

}  // namespace
}  // namespace isthmus::sim

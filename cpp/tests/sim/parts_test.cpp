// The queue, the TLB and the link by themselves, against the plainest versions of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <queue>
#include <random>

#include "sim/address_map.hpp"
#include "sim/event_queue.hpp"
#include "sim/link.hpp"
#include "sim/lookaside.hpp"

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
      queue.push(time, next, static_cast<std::uint32_t>(next % 7));
      plain.emplace(time, next++);
    } else {
      const Event event = queue.pop();
      ASSERT_EQ(event.time_ps, plain.top().first);
      ASSERT_EQ(event.payload, plain.top().second);
      ASSERT_EQ(event.order & 0x3FFFF, event.payload % 7);
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

TEST(TheAddressMap, GivesEachLineItsOwnNumberAndKeepsItsAddress) {
  Machine machine;
  for (const std::uint32_t partitions : {1U, 3U, 12U, 256U}) {
    machine.partitions.count = partitions;
    AddressMap map(machine, 2U << 20);
    std::mt19937_64 generator(partitions);
    std::vector<std::uint64_t> used(partitions, 0);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t line = (generator() % 64) << 30 | generator() % 40'000;
      const PlacedLine place = map.place(line);
      ASSERT_EQ(map.real_line(place.line()), line);
      ASSERT_EQ(map.place(line).bits, place.bits);
      ASSERT_LT(place.partition(), partitions);
      ++used[place.partition()];
    }
    EXPECT_GT(*std::ranges::min_element(used), 0U);
  }
}

TEST(TheAddressMap, SpreadsStridesOfPowersOfTwoOverAllPartitions) {
  const Machine machine;
  for (std::uint64_t stride = 2; stride <= 1U << 14; stride *= 2) {
    AddressMap map(machine, 2U << 20);
    std::vector<std::uint64_t> used(machine.partitions.count, 0);
    for (std::uint64_t i = 0; i < 4096; ++i) ++used[map.place(i * stride).partition()];
    EXPECT_GT(*std::ranges::min_element(used), 100U) << stride;
  }
}

}  // namespace
}  // namespace isthmus::sim

#include "workloads/hash_join.hpp"

#include <algorithm>

#include "workloads/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kThreadsPerCta = 256;
constexpr std::uint32_t kScatter = 0x85EBCA6B;  // odd: multiplying by it permutes

/// Keys are distinct, and none is 0: the sum is neither 0 nor above 32 bits.
std::uint32_t key_of(std::uint32_t index, std::uint32_t offset) {
  return (index + offset) * kScatter;
}

}  // namespace

HashJoin::HashJoin(std::uint64_t seed) {
  arguments_.build_keys = heap_.allocate<unsigned>("build_keys", kNumRows);
  arguments_.build_values = heap_.allocate<unsigned>("build_values", kNumRows);
  arguments_.slots = heap_.allocate<unsigned>("slots", kNumSlots);
  arguments_.slot_values = heap_.allocate<unsigned>("slot_values", kNumSlots);
  arguments_.probe_keys = heap_.allocate<unsigned>("probe_keys", kNumProbes);
  arguments_.results = heap_.allocate<unsigned>("results", kNumProbes);
  RandomNumbers random(seed);
  const std::uint32_t offset = random.below(1U << 30U) + 1;
  for (std::uint32_t row = 0; row < kNumRows; ++row) {
    arguments_.build_keys.values[row] = key_of(row, offset);
    arguments_.build_values.values[row] = random.below(1U << 30U) + 1;
  }
  // Keys from a range twice as large as the table's.
  std::generate_n(arguments_.probe_keys.values, kNumProbes,
                  [&] { return key_of(random.below(2 * kNumRows), offset); });
  describe();
}

void HashJoin::describe() {
  trace::Launch& build =
      program_.launches.emplace_back(launch("build", kNumRows / kThreadsPerCta, kThreadsPerCta));
  build.before = {upload(arguments_.build_keys), upload(arguments_.build_values)};
  trace::Launch& probe =
      program_.launches.emplace_back(launch("probe", kNumProbes / kThreadsPerCta, kThreadsPerCta));
  probe.before = {upload(arguments_.probe_keys)};
  program_.after = {download(arguments_.results)};
  finish_program();
}

void HashJoin::reset() {
  std::fill_n(arguments_.slots.values, kNumSlots, 0U);
  std::fill_n(arguments_.slot_values.values, kNumSlots, 0U);
  std::fill_n(arguments_.results.values, kNumProbes, 0U);
}

void HashJoin::run(std::uint32_t launch, Cta& cta) {
  if (launch == 0)
    hash_join_build(cta, arguments_);
  else
    hash_join_probe(cta, arguments_);
}

std::unique_ptr<Workload> make_hash_join(std::uint64_t seed) {
  return std::make_unique<HashJoin>(seed);
}

}  // namespace isthmus::workloads

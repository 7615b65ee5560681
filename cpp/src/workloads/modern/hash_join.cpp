#include "workloads/modern/hash_join.hpp"

#include <algorithm>
#include <bit>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kScatter = 0x85EBCA6B;  // odd: multiplying by it permutes

/// Keys are distinct, and none is 0: the sum is neither 0 nor above 32 bits.
std::uint32_t key_of(std::uint32_t index, std::uint32_t offset) {
  return (index + offset) * kScatter;
}

}  // namespace

HashJoin::HashJoin(const HashJoinSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  // An eighth to a quarter full.
  const std::uint32_t num_slots = 4 * std::bit_ceil(sizes.rows);
  arguments_.build_keys = heap_.allocate<unsigned>("build_keys", sizes_.rows);
  arguments_.build_values = heap_.allocate<unsigned>("build_values", sizes_.rows);
  arguments_.slots = heap_.allocate<unsigned>("slots", num_slots);
  arguments_.slot_values = heap_.allocate<unsigned>("slot_values", num_slots);
  arguments_.probe_keys = heap_.allocate<unsigned>("probe_keys", sizes_.probes);
  arguments_.results = heap_.allocate<unsigned>("results", sizes_.probes);
  RandomNumbers random(seed);
  const std::uint32_t offset = random.below(1U << 30U) + 1;
  for (std::uint32_t row = 0; row < sizes_.rows; ++row) {
    arguments_.build_keys.values[row] = key_of(row, offset);
    arguments_.build_values.values[row] = random.below(1U << 30U) + 1;
  }
  // Keys from a range twice as large as the table's.
  std::generate_n(arguments_.probe_keys.values, sizes_.probes,
                  [&] { return key_of(random.below(2 * sizes_.rows), offset); });
  describe();
}

void HashJoin::describe() {
  trace::Launch& build =
      program_.launches.emplace_back(launch("build", sizes_.rows / kThreadsPerCta, kThreadsPerCta));
  build.before = {upload(arguments_.build_keys), upload(arguments_.build_values)};
  trace::Launch& probe = program_.launches.emplace_back(
      launch("probe", sizes_.probes / kThreadsPerCta, kThreadsPerCta));
  probe.before = {upload(arguments_.probe_keys)};
  program_.after = {download(arguments_.results)};
  finish_program();
}

void HashJoin::reset() {
  std::fill_n(arguments_.slots.values, arguments_.slots.num_elements, 0U);
  std::fill_n(arguments_.slot_values.values, arguments_.slots.num_elements, 0U);
  std::fill_n(arguments_.results.values, sizes_.probes, 0U);
}

void HashJoin::run(std::uint32_t launch, Cta& cta) {
  if (launch == 0)
    hash_join_build(cta, arguments_);
  else
    hash_join_probe(cta, arguments_);
}

}  // namespace isthmus::workloads

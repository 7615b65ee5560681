#include "workloads/modern/lookups.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kScatterRanks = 0x9E3779B1;  // odd: multiplying by it permutes

/// Fills in the requested rows, by Zipf's law.
void fill_rows(const Array<unsigned>& rows, std::uint32_t num_rows, RandomNumbers& random) {
  std::vector<double> sums;  // of 1 / rank
  double sum = 0;
  for (std::uint32_t rank = 1; rank <= num_rows; ++rank) sums.push_back(sum += 1.0 / rank);
  std::generate_n(rows.values, rows.num_elements, [&] {
    const double value = static_cast<double>(random.uniform()) * sum;
    const auto rank = std::upper_bound(sums.begin(), sums.end() - 1, value) - sums.begin();
    return static_cast<std::uint32_t>(rank) * kScatterRanks % num_rows;
  });
}

}  // namespace

Embedding::Embedding(const EmbeddingSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  arguments_.table =
      heap_.allocate<EmbeddingPair>("table", std::uint64_t{sizes.rows} * kEmbeddingPairs);
  arguments_.rows = heap_.allocate<unsigned>("rows", std::uint64_t{sizes.bags} * sizes.lookups);
  arguments_.sums =
      heap_.allocate<EmbeddingPair>("sums", std::uint64_t{sizes.bags} * kEmbeddingPairs);
  arguments_.num_lookups = sizes.lookups;
  RandomNumbers random(seed);
  std::generate_n(arguments_.table.values, arguments_.table.num_elements, [&] {
    const float first = random.uniform();
    return EmbeddingPair{first, random.uniform()};
  });
  fill_rows(arguments_.rows, sizes.rows, random);
  trace::Launch& bags =
      program_.launches.emplace_back(launch("bags", sizes.bags / kBagsPerCta, kThreadsPerCta));
  bags.before = {upload(arguments_.table), upload(arguments_.rows)};
  program_.after = {download(arguments_.sums)};
  finish_program();
}

void Embedding::reset() {
  std::fill_n(arguments_.sums.values, arguments_.sums.num_elements, EmbeddingPair{});
}

void Embedding::run(std::uint32_t /*launch*/, Cta& cta) { embedding_bags(cta, arguments_); }

namespace {

constexpr std::uint32_t kScatterKeys = 0x85EBCA6B;  // odd: multiplying by it permutes

/// Keys are distinct, and none is 0: the sum is neither 0 nor above 32 bits.
std::uint32_t key_of(std::uint32_t index, std::uint32_t offset) {
  return (index + offset) * kScatterKeys;
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

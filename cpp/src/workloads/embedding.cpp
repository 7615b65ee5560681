#include "workloads/embedding.hpp"

#include <algorithm>
#include <vector>

#include "workloads/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kThreadsPerCta = 128;
constexpr std::uint32_t kBagsPerCta = kThreadsPerCta / kNumLanes;
constexpr std::uint32_t kScatter = 0x9E3779B1;  // odd: multiplying by it permutes
constexpr std::uint64_t kNumPairs = std::uint64_t{Embedding::kNumRows} * kEmbeddingPairs;

/// Fills in the requested rows, by Zipf's law.
void fill_rows(const Array<unsigned>& rows, RandomNumbers& random) {
  std::vector<double> sums;  // of 1 / rank
  double sum = 0;
  for (std::uint32_t rank = 1; rank <= Embedding::kNumRows; ++rank)
    sums.push_back(sum += 1.0 / rank);
  std::generate_n(rows.values, rows.num_elements, [&] {
    const double value = static_cast<double>(random.uniform()) * sum;
    const auto rank = std::upper_bound(sums.begin(), sums.end() - 1, value) - sums.begin();
    return static_cast<std::uint32_t>(rank) * kScatter % Embedding::kNumRows;
  });
}

}  // namespace

Embedding::Embedding(std::uint64_t seed) {
  arguments_.table = heap_.allocate<EmbeddingPair>("table", kNumPairs);
  arguments_.rows = heap_.allocate<unsigned>("rows", std::uint64_t{kNumBags} * kNumLookups);
  arguments_.sums =
      heap_.allocate<EmbeddingPair>("sums", std::uint64_t{kNumBags} * kEmbeddingPairs);
  arguments_.num_lookups = kNumLookups;
  RandomNumbers random(seed);
  std::generate_n(arguments_.table.values, kNumPairs, [&] {
    const float first = random.uniform();
    return EmbeddingPair{first, random.uniform()};
  });
  fill_rows(arguments_.rows, random);
  trace::Launch& bags =
      program_.launches.emplace_back(launch("bags", kNumBags / kBagsPerCta, kThreadsPerCta));
  bags.before = {upload(arguments_.table), upload(arguments_.rows)};
  program_.after = {download(arguments_.sums)};
  finish_program();
}

void Embedding::reset() {
  std::fill_n(arguments_.sums.values, arguments_.sums.num_elements, EmbeddingPair{});
}

void Embedding::run(std::uint32_t /*launch*/, Cta& cta) { embedding_bags(cta, arguments_); }

std::unique_ptr<Workload> make_embedding(std::uint64_t seed) {
  return std::make_unique<Embedding>(seed);
}

}  // namespace isthmus::workloads

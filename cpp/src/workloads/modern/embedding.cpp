#include "workloads/modern/embedding.hpp"

#include <algorithm>
#include <vector>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kScatter = 0x9E3779B1;  // odd: multiplying by it permutes

/// Fills in the requested rows, by Zipf's law.
void fill_rows(const Array<unsigned>& rows, std::uint32_t num_rows, RandomNumbers& random) {
  std::vector<double> sums;  // of 1 / rank
  double sum = 0;
  for (std::uint32_t rank = 1; rank <= num_rows; ++rank) sums.push_back(sum += 1.0 / rank);
  std::generate_n(rows.values, rows.num_elements, [&] {
    const double value = static_cast<double>(random.uniform()) * sum;
    const auto rank = std::upper_bound(sums.begin(), sums.end() - 1, value) - sums.begin();
    return static_cast<std::uint32_t>(rank) * kScatter % num_rows;
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

}  // namespace isthmus::workloads

// The paged cache of keys and values as a loop over the tokens reads it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "workloads/modern/kv_attention_kernel.hpp"

namespace isthmus::workloads::testing {

/// The cache of one head of one sequence, token by token.
class OneCache {
public:
  OneCache(const KvAttentionArguments& in, unsigned sequence, unsigned head)
      : in_(in), sequence_(sequence), head_(head) {}

  double key(unsigned token, unsigned d) const {
    const std::uint64_t part =
        (place_of(token) * kKvKeyParts + d / 8) * kKvBlockTokens + token % kKvBlockTokens;
    return static_cast<double>(kv_number(in_.keys.values[part].values[d % 8]));
  }
  double value(unsigned token, unsigned d) const {
    const std::uint64_t part =
        (place_of(token) * kKvBlockTokens + token % kKvBlockTokens) * kKvValueParts + d / 4;
    return static_cast<double>(kv_number(in_.values.values[part].values[d % 4]));
  }
  /// Where a query head's numbers begin.
  std::size_t first(unsigned query) const {
    return ((sequence_ * in_.num_heads + head_) * kKvQueries + query) * kKvDimensions;
  }
  unsigned num_tokens() const { return in_.num_tokens.values[sequence_]; }

  /// What a query head finds.
  std::vector<double> attention(unsigned query) const {
    const std::vector<double> weights = softmax(query);
    std::vector<double> result(kKvDimensions);
    for (unsigned token = 0; token < weights.size(); ++token)
      for (unsigned d = 0; d < kKvDimensions; ++d) result[d] += weights[token] * value(token, d);
    return result;
  }

private:
  /// The position in the cache's blocks and their heads.
  std::uint64_t place_of(unsigned token) const {
    const unsigned block =
        in_.block_tables.values[sequence_ * in_.max_blocks + token / kKvBlockTokens];
    return std::uint64_t{block} * in_.num_heads + head_;
  }
  std::vector<double> softmax(unsigned query) const {
    std::vector<double> weights(num_tokens());
    for (unsigned token = 0; token < weights.size(); ++token) {
      for (unsigned d = 0; d < kKvDimensions; ++d)
        weights[token] += static_cast<double>(in_.queries.values[first(query) + d]) * key(token, d);
      weights[token] /= std::sqrt(static_cast<double>(kKvDimensions));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  const KvAttentionArguments& in_;
  unsigned sequence_;
  unsigned head_;
};

}  // namespace isthmus::workloads::testing

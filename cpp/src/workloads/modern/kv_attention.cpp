#include "workloads/modern/kv_attention.hpp"

#include <algorithm>
#include <bit>

#include "workloads/modern/kv_cache.hpp"
#include "workloads/recording/random_numbers.hpp"
#include "workloads/recording/random_permutation.hpp"

namespace isthmus::workloads {
KvAttention::KvAttention(const KvAttentionSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  allocate();
  place_blocks(seed);
  fill_blocks(seed);
  describe();
}

std::uint32_t KvAttention::num_blocks() const {
  return std::bit_ceil(sizes_.sequences * max_blocks());
}

void KvAttention::allocate() {
  const std::uint64_t num_queries =
      std::uint64_t{sizes_.sequences} * sizes_.heads * kKvQueries * kKvDimensions;
  arguments_.queries = heap_.allocate<float>("queries", num_queries);
  arguments_.keys =
      heap_.allocate<KvKeyPart>("keys", num_blocks() * key_parts_of_block(sizes_.heads));
  arguments_.values =
      heap_.allocate<KvValuePart>("values", num_blocks() * value_parts_of_block(sizes_.heads));
  arguments_.block_tables =
      heap_.allocate<unsigned>("block_tables", std::uint64_t{sizes_.sequences} * max_blocks());
  arguments_.num_tokens = heap_.allocate<unsigned>("num_tokens", sizes_.sequences);
  arguments_.outputs = heap_.allocate<float>("outputs", num_queries);
  arguments_.num_heads = sizes_.heads;
  arguments_.max_blocks = max_blocks();
}

void KvAttention::place_blocks(std::uint64_t seed) {
  RandomNumbers random(seed);
  const std::vector<std::uint32_t> free = random_permutation(0, num_blocks(), random);
  for (std::uint32_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
    const std::uint32_t num_tokens =
        kFewestTokens + random.below(sizes_.tokens - kFewestTokens + 1);
    arguments_.num_tokens.values[sequence] = num_tokens;
    for (std::uint32_t block = 0; block * kKvBlockTokens < num_tokens; ++block) {
      arguments_.block_tables.values[sequence * max_blocks() + block] = free[used_blocks_.size()];
      used_blocks_.push_back(free[used_blocks_.size()]);
    }
  }
}

void KvAttention::fill_blocks(std::uint64_t seed) {
  RandomNumbers random(~seed);
  std::generate_n(arguments_.queries.values, arguments_.queries.num_elements,
                  [&] { return random.uniform() * 2 - 1; });
  for (const std::uint32_t block : used_blocks_) fill_block(arguments_, block, random);
}

void KvAttention::describe() {
  trace::Launch& step =
      program_.launches.emplace_back(launch("step", sizes_.sequences * sizes_.heads, kKvThreads));
  step.before = {upload(arguments_.queries), upload(arguments_.block_tables),
                 upload(arguments_.num_tokens)};
  for (const std::uint32_t block : used_blocks_) {
    step.before.push_back(
        upload_of_block(arguments_.keys, block, key_parts_of_block(sizes_.heads)));
    step.before.push_back(
        upload_of_block(arguments_.values, block, value_parts_of_block(sizes_.heads)));
  }
  program_.after = {download(arguments_.outputs)};
  finish_program();
}

void KvAttention::reset() {
  std::fill_n(arguments_.outputs.values, arguments_.outputs.num_elements, 0.0F);
}

void KvAttention::run(std::uint32_t /*launch*/, Cta& cta) { kv_attention(cta, arguments_); }

}  // namespace isthmus::workloads

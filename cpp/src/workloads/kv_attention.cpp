#include "workloads/kv_attention.hpp"

#include <algorithm>
#include <bit>

#include "workloads/random_numbers.hpp"
#include "workloads/random_permutation.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kKeyPartsOfBlock =
    std::uint64_t{KvAttention::kNumHeads} * kKvKeyParts * kKvBlockTokens;
constexpr std::uint64_t kValuePartsOfBlock =
    std::uint64_t{KvAttention::kNumHeads} * kKvBlockTokens * kKvValueParts;

/// Four bfloat16 in (-1, 1) from one random number, as bits.
template <class Part>
void fill_parts(Part* parts, std::uint64_t num_parts, RandomNumbers& random) {
  for (std::uint64_t part = 0; part < num_parts; ++part)
    for (std::size_t first = 0; first < std::size(parts[part].values); first += 4) {
      const std::uint64_t bits = random.next();
      for (std::size_t i = 0; i < 4; ++i) {
        const auto number = static_cast<std::int16_t>(bits >> (16 * i));
        const float value = static_cast<float>(number) / 32768;
        parts[part].values[first + i] =
            static_cast<unsigned short>(std::bit_cast<std::uint32_t>(value) >> 16U);
      }
    }
}

template <class T>
trace::HostStep upload_of_block(const Array<T>& array, std::uint32_t block,
                                std::uint64_t parts_of_block) {
  const std::uint64_t size_bytes = parts_of_block * sizeof(T);
  return {trace::HostStep::Kind::upload, array.address + block * size_bytes, size_bytes};
}

}  // namespace

KvAttention::KvAttention(std::uint64_t seed) {
  allocate();
  place_blocks(seed);
  fill_blocks(seed);
  describe();
}

void KvAttention::allocate() {
  constexpr std::uint64_t num_queries =
      std::uint64_t{kNumSequences} * kNumHeads * kKvQueries * kKvDimensions;
  static_assert(kMaxTokens <= kKvMostTokens);
  static_assert(kCacheBlocks >= kNumSequences * kMaxBlocks);
  arguments_.queries = heap_.allocate<float>("queries", num_queries);
  arguments_.keys = heap_.allocate<KvKeyPart>("keys", kCacheBlocks * kKeyPartsOfBlock);
  arguments_.values = heap_.allocate<KvValuePart>("values", kCacheBlocks * kValuePartsOfBlock);
  arguments_.block_tables =
      heap_.allocate<unsigned>("block_tables", std::uint64_t{kNumSequences} * kMaxBlocks);
  arguments_.num_tokens = heap_.allocate<unsigned>("num_tokens", kNumSequences);
  arguments_.outputs = heap_.allocate<float>("outputs", num_queries);
  arguments_.num_heads = kNumHeads;
  arguments_.max_blocks = kMaxBlocks;
}

void KvAttention::place_blocks(std::uint64_t seed) {
  RandomNumbers random(seed);
  const std::vector<std::uint32_t> free = random_permutation(0, kCacheBlocks, random);
  for (std::uint32_t sequence = 0; sequence < kNumSequences; ++sequence) {
    const std::uint32_t num_tokens = kFewestTokens + random.below(kMaxTokens - kFewestTokens + 1);
    arguments_.num_tokens.values[sequence] = num_tokens;
    for (std::uint32_t block = 0; block * kKvBlockTokens < num_tokens; ++block) {
      arguments_.block_tables.values[sequence * kMaxBlocks + block] = free[used_blocks_.size()];
      used_blocks_.push_back(free[used_blocks_.size()]);
    }
  }
}

void KvAttention::fill_blocks(std::uint64_t seed) {
  RandomNumbers random(~seed);
  std::generate_n(arguments_.queries.values, arguments_.queries.num_elements,
                  [&] { return random.uniform() * 2 - 1; });
  for (const std::uint32_t block : used_blocks_) {
    fill_parts(arguments_.keys.values + block * kKeyPartsOfBlock, kKeyPartsOfBlock, random);
    fill_parts(arguments_.values.values + block * kValuePartsOfBlock, kValuePartsOfBlock, random);
  }
}

void KvAttention::describe() {
  trace::Launch& step =
      program_.launches.emplace_back(launch("step", kNumSequences * kNumHeads, kKvThreads));
  step.before = {upload(arguments_.queries), upload(arguments_.block_tables),
                 upload(arguments_.num_tokens)};
  for (const std::uint32_t block : used_blocks_) {
    step.before.push_back(upload_of_block(arguments_.keys, block, kKeyPartsOfBlock));
    step.before.push_back(upload_of_block(arguments_.values, block, kValuePartsOfBlock));
  }
  program_.after = {download(arguments_.outputs)};
  finish_program();
}

void KvAttention::reset() {
  std::fill_n(arguments_.outputs.values, arguments_.outputs.num_elements, 0.0F);
}

void KvAttention::run(std::uint32_t /*launch*/, Cta& cta) { kv_attention(cta, arguments_); }

std::unique_ptr<Workload> make_kv_attention(std::uint64_t seed) {
  return std::make_unique<KvAttention>(seed);
}

}  // namespace isthmus::workloads

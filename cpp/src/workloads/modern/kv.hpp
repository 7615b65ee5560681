// Attention over a paged cache of keys and values, and decoding while the cache grows.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <vector>

#include "trace/trace.hpp"
#include "workloads/modern/kv_attention_kernel.hpp"
#include "workloads/modern/kv_decode_kernel.hpp"
#include "workloads/recording/array.hpp"
#include "workloads/recording/random_numbers.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

inline std::uint64_t key_parts_of_block(std::uint32_t num_heads) {
  return std::uint64_t{num_heads} * kKvKeyParts * kKvBlockTokens;
}

inline std::uint64_t value_parts_of_block(std::uint32_t num_heads) {
  return std::uint64_t{num_heads} * kKvBlockTokens * kKvValueParts;
}

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

/// Fills a block of both arrays, keys first.
inline void fill_block(const KvAttentionArguments& cache, std::uint32_t block,
                       RandomNumbers& random) {
  const std::uint64_t keys = key_parts_of_block(cache.num_heads);
  const std::uint64_t values = value_parts_of_block(cache.num_heads);
  fill_parts(cache.keys.values + block * keys, keys, random);
  fill_parts(cache.values.values + block * values, values, random);
}

template <class T>
trace::HostStep upload_of_block(const Array<T>& array, std::uint32_t block,
                                std::uint64_t parts_of_block) {
  const std::uint64_t size_bytes = parts_of_block * sizeof(T);
  return {trace::HostStep::Kind::upload, array.address + block * size_bytes, size_bytes};
}

struct KvAttentionSizes {
  std::uint32_t sequences = 32;
  std::uint32_t tokens = 1792;  ///< of the longest sequence
  std::uint32_t heads = 8;      ///< of keys and values
};

/// One layer of one decode step. The cache has a power of two of blocks, enough if all sequences
/// were as long as the longest can be: 256 MiB. The sequences' blocks fill half of it, and a
/// programmer copies those to the GPU block by block. In a block, each head's keys or values are
/// 4 KiB, which a CTA reads completely.
class KvAttention : public Workload {
public:
  static constexpr std::uint32_t kFewestTokens = 256;

  using Sizes = KvAttentionSizes;
  static constexpr SizeOf<KvAttentionSizes> kSizes[] = {
      {{.name = "sequences", .meaning = "sequences in the batch", .most = 4096},
       &KvAttentionSizes::sequences},
      {{.name = "tokens",
        .meaning = "tokens of the longest sequence",
        .least = kFewestTokens,
        .most = kKvMaxTokens},
       &KvAttentionSizes::tokens},
      {{.name = "heads", .meaning = "heads of keys and values", .most = 128},
       &KvAttentionSizes::heads}};

  KvAttention(const KvAttentionSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const KvAttentionSizes& sizes() const { return sizes_; }
  const KvAttentionArguments& arguments() const { return arguments_; }
  /// The cache's blocks that contain tokens, in the order of sequences and tokens.
  const std::vector<std::uint32_t>& used_blocks() const { return used_blocks_; }

private:
  std::uint32_t max_blocks() const { return (sizes_.tokens + kKvBlockTokens - 1) / kKvBlockTokens; }
  /// In the cache.
  std::uint32_t num_blocks() const;
  void allocate();
  void place_blocks(std::uint64_t seed);
  void fill_blocks(std::uint64_t seed);
  void describe();

  KvAttentionSizes sizes_;
  KvAttentionArguments arguments_{};
  std::vector<std::uint32_t> used_blocks_;
};

struct KvDecodeSizes {
  std::uint32_t sequences = 16;
  std::uint32_t tokens = 1024;  ///< of the longest prompt
  std::uint32_t steps = 8;
  std::uint32_t heads = 8;  ///< of keys and values
};

/// One layer, 8 steps of 16 sequences, whose prompts have 256 to 1024 tokens. Each step appends a
/// token to every sequence, then attends to all of its tokens. The sequences' blocks of 16 tokens,
/// 64 KiB, are anywhere in a cache of 128 MiB, of which some 40 are in use. The prompts' blocks come
/// from the CPU, as those of sequences that were preempted; a programmer copies them once. New
/// blocks are written on the GPU first. The host places them. It copies the table of blocks to the
/// GPU in each step in which a sequence gets one, and the lengths in every step.
///
/// Source      blocks, tables and sequences that return from the CPU: Kwon 2023
class KvDecode : public Workload {
public:
  static constexpr std::uint32_t kFewestTokens = 256;
  static constexpr std::uint32_t kMaxSteps = 256;

  using Sizes = KvDecodeSizes;
  static constexpr SizeOf<KvDecodeSizes> kSizes[] = {
      {{.name = "sequences", .meaning = "sequences in the batch", .most = 4096},
       &KvDecodeSizes::sequences},
      {{.name = "tokens",
        .meaning = "tokens of the longest prompt",
        .least = kFewestTokens,
        .most = kKvMaxTokens - kMaxSteps},
       &KvDecodeSizes::tokens},
      {{.name = "steps", .meaning = "steps, a token of each sequence", .most = kMaxSteps},
       &KvDecodeSizes::steps},
      {{.name = "heads", .meaning = "heads of keys and values", .most = 128},
       &KvDecodeSizes::heads}};

  KvDecode(const KvDecodeSizes& sizes, std::uint64_t seed);

  void reset() override;
  void before(std::uint32_t launch) override;
  void run(std::uint32_t launch, Cta& cta) override;

  const KvDecodeSizes& sizes() const { return sizes_; }
  const KvAttentionArguments& arguments() const { return arguments_; }
  /// Of each sequence.
  const std::vector<std::uint32_t>& prompt_tokens() const { return prompt_tokens_; }

private:
  void allocate();
  void place_blocks(std::uint64_t seed);
  void fill(std::uint64_t seed);
  void describe();
  std::vector<trace::HostStep> first_uploads() const;
  bool needs_block(std::uint32_t step) const;

  KvDecodeSizes sizes_;
  KvAttentionArguments arguments_{};
  std::vector<std::uint32_t> prompt_tokens_;
  std::vector<std::uint32_t> prompt_blocks_;  // in the cache
  std::vector<float> first_queries_;
  std::vector<float> first_outputs_;
};

}  // namespace isthmus::workloads

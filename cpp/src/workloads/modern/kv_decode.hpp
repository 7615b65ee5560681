// Decoding with a growing cache of keys and values.
//
// The new token of each sequence in a step of decoding: its key and value go to the end of the
// sequence's cache, and its queries are ready for attention. A model computes them from the last
// step's output through projections; here they are means and sums of it, number by number, so that
// each step depends on the one before. A CTA is one warp, and has one sequence and one key/value
// head. The layout of the cache and the attention over it are kv_attention_kernel.hpp's.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/modern/kv_attention_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

// Instructions of a thread, counted in the source.
inline constexpr unsigned kKvNew = 24;     ///< indices, place in the cache
inline constexpr unsigned kKvNumber = 10;  ///< addresses, three sums, conversion
inline constexpr unsigned kKvRenew = 4;    ///< address, sum

/// The upper half of a float.
inline unsigned short kv_bits(float value) {
  return static_cast<unsigned short>(__builtin_bit_cast(unsigned, value) >> 16U);
}

/// The mean over the CTA's query heads, in one dimension.
template <class Warp, class Index>
auto kv_mean(Warp& warp, const Array<float>& array, unsigned cta, const Index& dimension) {
  auto sum = warp.lanes(0.0F);
  for (unsigned query = 0; query < kKvQueries; ++query)
    sum = sum + warp.load(array, dimension + (cta * kKvQueries + query) * kKvDimensions);
  warp.compute(kKvNumber);
  return sum * (1.0F / kKvQueries);
}

/// Some dimensions of the means, from `first` on, as they are stored.
template <class Part, class Warp, class Index>
auto kv_part(Warp& warp, const Array<float>& array, unsigned cta, const Index& first) {
  auto part = warp.lanes(Part{});
  for (unsigned i = 0; i < sizeof(Part) / sizeof(unsigned short); ++i)
    part = warp.map(
        [i](Part before, float value) {
          before.values[i] = kv_bits(value);
          return before;
        },
        part, kv_mean(warp, array, cta, first + i));
  return part;
}

/// Sixteen lanes store eight dimensions of the key each.
template <class Warp, class Index>
void kv_store_key(Warp& warp, const KvAttentionArguments& in, unsigned cta, const Index& place,
                  const Index& offset) {
  warp.when(warp.lane() < kKvKeyParts, [&] {
    const auto part = kv_part<KvKeyPart>(warp, in.queries, cta, warp.lane() * 8);
    warp.store(in.keys, (place * kKvKeyParts + warp.lane()) * kKvBlockTokens + offset, part);
  });
}

/// All lanes store four dimensions of the value each.
template <class Warp, class Index>
void kv_store_value(Warp& warp, const KvAttentionArguments& in, unsigned cta, const Index& place,
                    const Index& offset) {
  const auto part = kv_part<KvValuePart>(warp, in.outputs, cta, warp.lane() * 4);
  warp.store(in.values, (place * kKvBlockTokens + offset) * kKvValueParts + warp.lane(), part);
}

/// The next queries: half the last ones, and the last output.
template <class Warp>
void kv_renew_queries(Warp& warp, const KvAttentionArguments& in, unsigned cta) {
  for (unsigned first = 0; first < kKvQueries * kKvDimensions; first += 32) {
    const auto at = warp.lane() + (cta * kKvQueries * kKvDimensions + first);
    warp.compute(kKvRenew);
    warp.store(in.queries, at, warp.load(in.queries, at) * 0.5F + warp.load(in.outputs, at));
  }
}

template <class Cta>
void kv_append(Cta& cta, const KvAttentionArguments& in) {
  const unsigned sequence = cta.index() / in.num_heads;
  const unsigned head = cta.index() % in.num_heads;
  cta.each_warp([&](auto& warp) {
    const auto token = warp.load(in.num_tokens, warp.lanes(sequence)) - 1;
    const auto block =
        warp.load(in.block_tables, token / kKvBlockTokens + sequence * in.max_blocks);
    const auto place = block * in.num_heads + head;
    warp.compute(kKvNew);
    kv_store_key(warp, in, cta.index(), place, token % kKvBlockTokens);
    kv_store_value(warp, in, cta.index(), place, token % kKvBlockTokens);
  });
  cta.barrier();  // the key needs other lanes' queries
  cta.each_warp([&](auto& warp) { kv_renew_queries(warp, in, cta.index()); });
}

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
  static constexpr std::uint32_t kMostSteps = 256;

  using Sizes = KvDecodeSizes;
  static constexpr SizeOf<KvDecodeSizes> kSizes[] = {
      {{.name = "sequences", .meaning = "sequences in the batch", .most = 4096},
       &KvDecodeSizes::sequences},
      {{.name = "tokens",
        .meaning = "tokens of the longest prompt",
        .least = kFewestTokens,
        .most = kKvMostTokens - kMostSteps},
       &KvDecodeSizes::tokens},
      {{.name = "steps", .meaning = "steps, a token of each sequence", .most = kMostSteps},
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

// Attention over a paged cache of keys and values.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/modern/kv_attention_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

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

}  // namespace isthmus::workloads

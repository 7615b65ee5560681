// Attention over a paged cache of keys and values.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/kv_attention_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// One layer of one decode step. The cache has 256 MiB; the sequences' blocks fill half of it, and
/// a programmer copies those to the GPU block by block. In a block, each head's keys or values are
/// 4 KiB, which a CTA reads completely.
class KvAttention : public Workload {
public:
  static constexpr std::uint32_t kNumSequences = 32;
  static constexpr std::uint32_t kNumHeads = 8;
  static constexpr std::uint32_t kFewestTokens = 256;
  static constexpr std::uint32_t kMaxTokens = 1792;
  static constexpr std::uint32_t kMaxBlocks = kMaxTokens / kKvBlockTokens;
  static constexpr std::uint32_t kCacheBlocks = 4096;

  explicit KvAttention(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const KvAttentionArguments& arguments() const { return arguments_; }
  /// The cache's blocks that contain tokens, in the order of sequences and tokens.
  const std::vector<std::uint32_t>& used_blocks() const { return used_blocks_; }

private:
  void allocate();
  void place_blocks(std::uint64_t seed);
  void fill_blocks(std::uint64_t seed);
  void describe();

  KvAttentionArguments arguments_{};
  std::vector<std::uint32_t> used_blocks_;
};

std::unique_ptr<Workload> make_kv_attention(std::uint64_t seed);

}  // namespace isthmus::workloads

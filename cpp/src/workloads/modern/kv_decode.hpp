// Decoding with a growing cache of keys and values.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/modern/kv_decode_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

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

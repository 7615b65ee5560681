// Lookups in tables: an embedding's, and a join's of two tables.
#pragma once

#include <cstdint>

#include "workloads/modern/embedding_kernel.hpp"
#include "workloads/modern/hash_join_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct EmbeddingSizes {
  std::uint32_t rows = 1U << 19U;  ///< of the table
  std::uint32_t bags = 16384;
  std::uint32_t lookups = 32;  ///< in a bag
};

/// 524,288 rows of 64 numbers (128 MiB), 16,384 bags of 32 lookups. The rows follow Zipf's law with
/// exponent 1; frequent rows are scattered.
class Embedding : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 128;
  static constexpr std::uint32_t kBagsPerCta = kThreadsPerCta / kNumLanes;

  using Sizes = EmbeddingSizes;
  static constexpr SizeOf<EmbeddingSizes> kSizes[] = {
      {{.name = "rows",
        .meaning = "rows of the table, 256 B each",
        .least = 32,
        .most = 1U << 25U,
        .power_of_two = true},
       &EmbeddingSizes::rows},
      {{.name = "bags",
        .meaning = "bags of lookups",
        .least = 4,
        .most = 1U << 22U,
        .multiple = kBagsPerCta},
       &EmbeddingSizes::bags},
      {{.name = "lookups", .meaning = "lookups in a bag", .most = 512}, &EmbeddingSizes::lookups}};

  Embedding(const EmbeddingSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const EmbeddingSizes& sizes() const { return sizes_; }
  const EmbeddingArguments& arguments() const { return arguments_; }

private:
  EmbeddingSizes sizes_;
  EmbeddingArguments arguments_{};
};

struct HashJoinSizes {
  std::uint32_t rows = 1U << 20U;  ///< of the table that is hashed
  std::uint32_t probes = 1U << 21U;
};

/// 1,048,576 rows in a hash table of 4,194,304 slots (16 MiB of keys, 16 MiB of values), 2,097,152
/// probes, half of which succeed.
class HashJoin : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 256;

  using Sizes = HashJoinSizes;
  static constexpr SizeOf<HashJoinSizes> kSizes[] = {
      {{.name = "rows",
        .meaning = "rows of the table that is hashed",
        .least = 256,
        .most = 1U << 23U,
        .multiple = kThreadsPerCta},
       &HashJoinSizes::rows},
      {{.name = "probes",
        .meaning = "rows of the other table",
        .least = 256,
        .most = 1U << 26U,
        .multiple = kThreadsPerCta},
       &HashJoinSizes::probes}};

  HashJoin(const HashJoinSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const HashJoinSizes& sizes() const { return sizes_; }
  const HashJoinArguments& arguments() const { return arguments_; }

private:
  void describe();

  HashJoinSizes sizes_;
  HashJoinArguments arguments_{};
};

}  // namespace isthmus::workloads

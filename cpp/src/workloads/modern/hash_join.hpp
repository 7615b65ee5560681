// A join of two tables.
#pragma once

#include <cstdint>

#include "workloads/modern/hash_join_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

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

// A join of two tables.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/hash_join_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 1,048,576 rows in a hash table of 4,194,304 slots (16 MiB of keys, 16 MiB of values), 2,097,152
/// probes, half of which succeed.
class HashJoin : public Workload {
public:
  static constexpr std::uint32_t kNumRows = 1U << 20U;
  static constexpr std::uint32_t kNumSlots = 1U << 22U;
  static constexpr std::uint32_t kNumProbes = 1U << 21U;

  explicit HashJoin(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const HashJoinArguments& arguments() const { return arguments_; }

private:
  void describe();

  HashJoinArguments arguments_{};
};

std::unique_ptr<Workload> make_hash_join(std::uint64_t seed);

}  // namespace isthmus::workloads

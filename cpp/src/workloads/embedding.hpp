// Lookups in an embedding table.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/embedding_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 524,288 rows of 64 numbers (128 MiB), 16,384 bags of 32 lookups. The rows follow Zipf's law with
/// exponent 1; frequent rows are scattered.
class Embedding : public Workload {
public:
  static constexpr std::uint32_t kNumRows = 1U << 19U;
  static constexpr std::uint32_t kNumBags = 16384;
  static constexpr std::uint32_t kNumLookups = 32;

  explicit Embedding(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const EmbeddingArguments& arguments() const { return arguments_; }

private:
  EmbeddingArguments arguments_{};
};

std::unique_ptr<Workload> make_embedding(std::uint64_t seed);

}  // namespace isthmus::workloads

// Matrix multiplication.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/gemm_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// A layer of a network: weights, 32 MiB, times 128 columns of activations. The CTAs of one row of
/// tiles are consecutive and read the same weights.
class Gemm : public Workload {
public:
  static constexpr std::uint32_t kNumRows = 4096;
  static constexpr std::uint32_t kDepth = 2048;
  static constexpr std::uint32_t kNumColumns = 128;

  explicit Gemm(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const GemmArguments& arguments() const { return arguments_; }

private:
  GemmArguments arguments_{};
};

std::unique_ptr<Workload> make_gemm(std::uint64_t seed);

}  // namespace isthmus::workloads

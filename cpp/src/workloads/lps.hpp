// Laplace's equation in three dimensions.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/lps_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 100 x 100 x 100 points, one step. Only the points before the step are copied to the GPU; the GPU
/// writes the points after it for the first time.
class Lps : public Workload {
public:
  static constexpr std::uint32_t kSize = 100;

  explicit Lps(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const LpsArguments& arguments() const { return arguments_; }

private:
  LpsArguments arguments_{};
};

std::unique_ptr<Workload> make_lps(std::uint64_t seed);

}  // namespace isthmus::workloads

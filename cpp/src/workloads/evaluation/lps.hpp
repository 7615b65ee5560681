// Laplace's equation in three dimensions.
#pragma once

#include <cstdint>

#include "workloads/evaluation/lps_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct LpsSizes {
  std::uint32_t size = 100;  ///< points along a side
};

/// 100 x 100 x 100 points, one step. Only the points before the step are copied to the GPU; the GPU
/// writes the points after it for the first time.
class Lps : public Workload {
public:
  using Sizes = LpsSizes;
  static constexpr SizeOf<LpsSizes> kSizes[] = {
      {{.name = "size", .meaning = "points along a side of the cube", .least = 2, .most = 768},
       &LpsSizes::size}};

  Lps(const LpsSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const LpsSizes& sizes() const { return sizes_; }
  const LpsArguments& arguments() const { return arguments_; }

private:
  LpsSizes sizes_;
  LpsArguments arguments_{};
};

}  // namespace isthmus::workloads

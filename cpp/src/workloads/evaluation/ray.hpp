// A ray-traced picture.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/evaluation/ray_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct RaySizes {
  std::uint32_t size = 256;  ///< pixels along a side
  std::uint32_t spheres = 6;
};

/// 256 x 256 pixels, in memory for 1024 x 1024. The scene is in constant memory.
class RayTracer : public Workload {
public:
  using Sizes = RaySizes;
  static constexpr SizeOf<RaySizes> kSizes[] = {
      {{.name = "size",
        .meaning = "pixels along a side of the picture",
        .least = 16,
        .most = 1024,
        .multiple = kRayWidth},
       &RaySizes::size},
      {{.name = "spheres", .meaning = "spheres in the scene, in constant memory", .most = 1024},
       &RaySizes::spheres}};

  RayTracer(const RaySizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::colours; }

  const RaySizes& sizes() const { return sizes_; }
  const RayArguments& arguments() const { return arguments_; }

private:
  RaySizes sizes_;
  std::vector<RaySphere> spheres_;
  RayArguments arguments_{};
};

}  // namespace isthmus::workloads

// A ray-traced picture.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/ray_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 256 x 256 pixels, in memory for 1024 x 1024. The scene is in constant memory.
class RayTracer : public Workload {
public:
  static constexpr std::uint32_t kSize = 256;
  static constexpr std::uint32_t kNumSpheres = 6;

  explicit RayTracer(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const RayArguments& arguments() const { return arguments_; }

private:
  std::vector<RaySphere> spheres_;
  RayArguments arguments_{};
};

std::unique_ptr<Workload> make_ray(std::uint64_t seed);

}  // namespace isthmus::workloads

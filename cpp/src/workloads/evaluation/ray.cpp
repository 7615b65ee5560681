#include "workloads/evaluation/ray.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 71'000'000;  // ISPASS'09, Table 1
constexpr std::uint64_t kAllocatedPixels = std::uint64_t{1024} * 1024;

RaySphere random_sphere(RandomNumbers& random, std::uint32_t index) {
  const float radius = 0.3F + 0.4F * random.uniform();
  const float x = -1.6F + 0.65F * static_cast<float>(index) + 0.2F * random.uniform();
  const float z = 0.5F + 3 * random.uniform();
  const float red = random.uniform();
  const float green = random.uniform();
  return {{x, radius, z}, radius, {red, green, random.uniform()}, 0.3F + 0.6F * random.uniform()};
}

}  // namespace

RayTracer::RayTracer(const RaySizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_ctas = sizes.size / kRayWidth * (sizes.size / kRayHeight);
  RandomNumbers random(seed);
  for (std::uint32_t i = 0; i < sizes.spheres; ++i) spheres_.push_back(random_sphere(random, i));
  arguments_.spheres = spheres_.data();
  arguments_.num_spheres = sizes.spheres;
  arguments_.light = {3, 6, -3};
  arguments_.pixels = heap_.allocate<unsigned>("pixels", kAllocatedPixels);
  arguments_.size = sizes.size;
  program_.launches.push_back(launch("pixels", num_ctas, kRayWidth * kRayHeight));
  program_.after = {{trace::HostStep::Kind::download, arguments_.pixels.address,
                     std::uint64_t{sizes.size} * sizes.size * sizeof(unsigned)}};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void RayTracer::reset() { std::fill_n(arguments_.pixels.values, kAllocatedPixels, 0U); }

void RayTracer::run(std::uint32_t /*launch*/, Cta& cta) { ray_pixels(cta, arguments_); }

KernelCall RayTracer::call(std::uint32_t /*launch*/) const {
  KernelCall call = kernel_call("ray_pixels", arguments_);
  add_constant(call, arguments_, arguments_.spheres, spheres_.size());
  return call;
}

}  // namespace isthmus::workloads

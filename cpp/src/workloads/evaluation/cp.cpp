#include "workloads/evaluation/cp.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 126'000'000;  // ISPASS'09, Table 1
constexpr float kSpacing = 0.1F;

}  // namespace

Cp::Cp(const CpSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_ctas =
      sizes.size / (kCpWidth * kCpPointsPerThread) * (sizes.size / kCpHeight);
  RandomNumbers random(seed);
  for (std::uint32_t i = 0; i < sizes.atoms; ++i) {
    const auto side = static_cast<float>(sizes.size);
    const float x = random.uniform() * kSpacing * side;
    const float y = random.uniform() * kSpacing * side;
    const float z = random.uniform() * kSpacing * side + kSpacing;  // never on a point
    atoms_.push_back({x, y, z * z, random.uniform() * 2 - 1});
  }
  arguments_.atoms = atoms_.data();
  arguments_.num_atoms = sizes.atoms;
  arguments_.potential = heap_.allocate<float>("potential", std::uint64_t{sizes.size} * sizes.size);
  arguments_.width = sizes.size;
  arguments_.spacing = kSpacing;
  program_.launches.push_back(launch("plane", num_ctas, kCpWidth * kCpHeight));
  program_.after = {download(arguments_.potential)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Cp::reset() {
  std::fill_n(arguments_.potential.values, arguments_.potential.num_elements, 0.0F);
}

void Cp::run(std::uint32_t /*launch*/, Cta& cta) { cp_plane(cta, arguments_); }

KernelCall Cp::call(std::uint32_t /*launch*/) const {
  KernelCall call = kernel_call("cp_plane", arguments_);
  add_constant(call, arguments_, arguments_.atoms, atoms_.size());
  return call;
}

}  // namespace isthmus::workloads

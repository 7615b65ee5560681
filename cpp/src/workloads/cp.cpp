#include "workloads/cp.hpp"

#include <algorithm>

#include "workloads/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 126'000'000;  // ISPASS'09, Table 1
constexpr std::uint64_t kNumPoints = std::uint64_t{Cp::kSize} * Cp::kSize;
constexpr float kSpacing = 0.1F;
constexpr std::uint32_t kNumCtas =
    Cp::kSize / (kCpWidth * kCpPointsPerThread) * (Cp::kSize / kCpHeight);

}  // namespace

Cp::Cp(std::uint64_t seed) {
  RandomNumbers random(seed);
  for (std::uint32_t i = 0; i < kNumAtoms; ++i) {
    const float x = random.uniform() * kSpacing * kSize;
    const float y = random.uniform() * kSpacing * kSize;
    const float z = random.uniform() * kSpacing * kSize + kSpacing;  // never on a point
    atoms_.push_back({x, y, z * z, random.uniform() * 2 - 1});
  }
  arguments_.atoms = atoms_.data();
  arguments_.num_atoms = kNumAtoms;
  arguments_.potential = heap_.allocate<float>("potential", kNumPoints);
  arguments_.width = kSize;
  arguments_.spacing = kSpacing;
  program_.launches.push_back(launch("plane", kNumCtas, kCpWidth * kCpHeight));
  program_.after = {download(arguments_.potential)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Cp::reset() { std::fill_n(arguments_.potential.values, kNumPoints, 0.0F); }

void Cp::run(std::uint32_t /*launch*/, Cta& cta) { cp_plane(cta, arguments_); }

std::unique_ptr<Workload> make_cp(std::uint64_t seed) { return std::make_unique<Cp>(seed); }

}  // namespace isthmus::workloads

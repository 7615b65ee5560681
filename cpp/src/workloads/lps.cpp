#include "workloads/lps.hpp"

#include <algorithm>

#include "workloads/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 82'000'000;  // ISPASS'09, Table 1
constexpr std::uint32_t kCtasX = (Lps::kSize + kLpsWidth - 1) / kLpsWidth;
constexpr std::uint32_t kCtasY = (Lps::kSize + kLpsHeight - 1) / kLpsHeight;

}  // namespace

Lps::Lps(std::uint64_t seed) {
  constexpr std::uint64_t num_points = std::uint64_t{kSize} * kSize * kSize;
  arguments_.before = heap_.allocate<float>("before", num_points);
  arguments_.after = heap_.allocate<float>("after", num_points);
  arguments_.size = kSize;
  arguments_.num_ctas_x = kCtasX;
  RandomNumbers random(seed);
  std::generate_n(arguments_.before.values, num_points, [&] { return random.uniform(); });
  trace::Launch& step =
      program_.launches.emplace_back(launch("step", kCtasX * kCtasY, kLpsWidth * kLpsHeight));
  step.before = {upload(arguments_.before)};
  program_.after = {download(arguments_.after)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Lps::reset() { std::fill_n(arguments_.after.values, arguments_.after.num_elements, 0.0F); }

void Lps::run(std::uint32_t /*launch*/, Cta& cta) { lps_step(cta, arguments_); }

std::unique_ptr<Workload> make_lps(std::uint64_t seed) { return std::make_unique<Lps>(seed); }

}  // namespace isthmus::workloads

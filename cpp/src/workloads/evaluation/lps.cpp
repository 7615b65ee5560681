#include "workloads/evaluation/lps.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 82'000'000;  // ISPASS'09, Table 1

}  // namespace

Lps::Lps(const LpsSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_ctas_x = (sizes.size + kLpsWidth - 1) / kLpsWidth;
  const std::uint32_t num_ctas_y = (sizes.size + kLpsHeight - 1) / kLpsHeight;
  const std::uint64_t num_points = std::uint64_t{sizes.size} * sizes.size * sizes.size;
  arguments_.before = heap_.allocate<float>("before", num_points);
  arguments_.after = heap_.allocate<float>("after", num_points);
  arguments_.size = sizes.size;
  arguments_.num_ctas_x = num_ctas_x;
  RandomNumbers random(seed);
  std::generate_n(arguments_.before.values, num_points, [&] { return random.uniform(); });
  trace::Launch& step = program_.launches.emplace_back(
      launch("step", num_ctas_x * num_ctas_y, kLpsWidth * kLpsHeight));
  step.before = {upload(arguments_.before)};
  program_.after = {download(arguments_.after)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Lps::reset() { std::fill_n(arguments_.after.values, arguments_.after.num_elements, 0.0F); }

void Lps::run(std::uint32_t /*launch*/, Cta& cta) { lps_step(cta, arguments_); }

KernelCall Lps::call(std::uint32_t /*launch*/) const { return kernel_call("lps_step", arguments_); }

}  // namespace isthmus::workloads

#include "workloads/evaluation/lib.hpp"

#include <algorithm>

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kPublishedInstructions = 907'000'000;  // ISPASS'09, Table 1
constexpr std::uint32_t kLocalWords = 3 * kLibRates + kLibKept;
// A flat market, near the swaptions' rates, so that some are exercised and some are not.
constexpr float kFirstRate = 0.051F;
constexpr float kVolatility = 0.2F;
constexpr float kAccrualYears = 0.25F;
constexpr unsigned kMaturities[kLibOptions] = {4,  4,  4,  8,  8,  8,  20, 20,
                                               20, 28, 28, 28, 40, 40, 40};
constexpr float kSwapRates[kLibOptions] = {0.045F, 0.05F,  0.055F, 0.045F, 0.05F,
                                           0.055F, 0.045F, 0.05F,  0.055F, 0.045F,
                                           0.05F,  0.055F, 0.045F, 0.05F,  0.055F};

}  // namespace

Lib::Lib(const LibSizes& sizes, std::uint64_t seed)
    : sizes_(sizes), volatilities_(kLibRates, kVolatility) {
  arguments_.volatilities = volatilities_.data();
  arguments_.maturities = kMaturities;
  arguments_.swap_rates = kSwapRates;
  arguments_.accrual = kAccrualYears;
  arguments_.first_rate = kFirstRate;
  arguments_.seed = static_cast<unsigned>(seed);
  arguments_.prices = heap_.allocate<float>("prices", sizes_.paths);
  arguments_.sensitivities = heap_.allocate<float>("sensitivities", sizes_.paths);
  trace::Launch& paths = program_.launches.emplace_back(
      launch("paths", sizes_.paths / kThreadsPerCta, kThreadsPerCta));
  paths.local_bytes_per_thread = kLocalWords * sizeof(float);
  program_.after = {download(arguments_.prices), download(arguments_.sensitivities)};
  program_.thread_instructions = kPublishedInstructions;
  finish_program();
}

void Lib::reset() {
  std::fill_n(arguments_.prices.values, sizes_.paths, 0.0F);
  std::fill_n(arguments_.sensitivities.values, sizes_.paths, 0.0F);
}

void Lib::run(std::uint32_t /*launch*/, Cta& cta) { lib_paths(cta, arguments_); }

KernelCall Lib::call(std::uint32_t /*launch*/) const {
  KernelCall call = kernel_call("lib_paths", arguments_);
  add_constant(call, arguments_, arguments_.volatilities, volatilities_.size());
  add_constant(call, arguments_, arguments_.maturities, kLibOptions);
  add_constant(call, arguments_, arguments_.swap_rates, kLibOptions);
  return call;
}

}  // namespace isthmus::workloads

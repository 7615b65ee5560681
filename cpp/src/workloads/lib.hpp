// Monte Carlo of interest rates.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/lib_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 4096 paths, 15 swaptions. Its data is half a KiB of constants, two results for each path, and
/// 14,080 bytes of local memory for each thread.
class Lib : public Workload {
public:
  static constexpr std::uint32_t kNumPaths = 4096;

  explicit Lib(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const LibArguments& arguments() const { return arguments_; }

private:
  std::vector<float> volatilities_;
  LibArguments arguments_{};
};

std::unique_ptr<Workload> make_lib(std::uint64_t seed);

}  // namespace isthmus::workloads

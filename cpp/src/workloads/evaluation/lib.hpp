// Monte Carlo of interest rates.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/evaluation/lib_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct LibSizes {
  std::uint32_t paths = 4096;
};

/// 4096 paths, 15 swaptions. Its data is half a KiB of constants, two results for each path, and
/// 14,080 bytes of local memory for each thread.
class Lib : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 64;

  using Sizes = LibSizes;
  static constexpr SizeOf<LibSizes> kSizes[] = {{{.name = "paths",
                                                  .meaning = "paths of interest rates",
                                                  .least = 64,
                                                  .most = 1U << 22U,
                                                  .multiple = kThreadsPerCta},
                                                 &LibSizes::paths}};

  Lib(const LibSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const LibSizes& sizes() const { return sizes_; }
  const LibArguments& arguments() const { return arguments_; }

private:
  LibSizes sizes_;
  std::vector<float> volatilities_;
  LibArguments arguments_{};
};

}  // namespace isthmus::workloads

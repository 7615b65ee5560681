// Matrix multiplication.
#pragma once

#include <cstdint>

#include "workloads/modern/gemm_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct GemmSizes {
  std::uint32_t rows = 4096;  ///< of the weights
  std::uint32_t depth = 2048;
  std::uint32_t columns = 128;  ///< of activations
};

/// A layer of a network: weights, 32 MiB, times 128 columns of activations. The CTAs of one row of
/// tiles are consecutive and read the same weights.
class Gemm : public Workload {
public:
  using Sizes = GemmSizes;
  static constexpr SizeOf<GemmSizes> kSizes[] = {{{.name = "rows",
                                                   .meaning = "rows of the weights",
                                                   .least = 64,
                                                   .most = 1U << 15U,
                                                   .multiple = kGemmTile},
                                                  &GemmSizes::rows},
                                                 {{.name = "depth",
                                                   .meaning = "columns of the weights",
                                                   .least = 16,
                                                   .most = 1U << 15U,
                                                   .multiple = kGemmDepth},
                                                  &GemmSizes::depth},
                                                 {{.name = "columns",
                                                   .meaning = "columns of activations",
                                                   .least = 64,
                                                   .most = 1U << 15U,
                                                   .multiple = kGemmTile},
                                                  &GemmSizes::columns}};

  Gemm(const GemmSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const GemmSizes& sizes() const { return sizes_; }
  const GemmArguments& arguments() const { return arguments_; }

private:
  GemmSizes sizes_;
  GemmArguments arguments_{};
};

}  // namespace isthmus::workloads

// A sparse matrix times a vector.
#pragma once

#include <cstdint>

#include "workloads/modern/spmv_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct SpmvSizes {
  std::uint32_t rows = 1U << 18U;
};

/// 262,144 rows, about 17 entries in each.
class Spmv : public Workload {
public:
  using Sizes = SpmvSizes;
  static constexpr SizeOf<SpmvSizes> kSizes[] = {{{.name = "rows",
                                                   .meaning = "rows and columns of the matrix",
                                                   .least = 1024,
                                                   .most = 1U << 24U,
                                                   .power_of_two = true},
                                                  &SpmvSizes::rows}};

  Spmv(const SpmvSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const SpmvSizes& sizes() const { return sizes_; }
  const SpmvArguments& arguments() const { return arguments_; }

private:
  SpmvSizes sizes_;
  SpmvArguments arguments_{};
};

}  // namespace isthmus::workloads

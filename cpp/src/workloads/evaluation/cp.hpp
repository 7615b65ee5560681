// Coulomb potential of atoms on a grid.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/evaluation/cp_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct CpSizes {
  std::uint32_t size = 256;  ///< points along a side
  std::uint32_t atoms = 200;
};

/// 256 x 256 points, 200 atoms. The atoms are in constant memory, so nothing is copied to the heap;
/// the GPU clears the grid.
class Cp : public Workload {
public:
  using Sizes = CpSizes;
  static constexpr SizeOf<CpSizes> kSizes[] = {
      {{.name = "size",
        .meaning = "points along a side of the grid",
        .least = 32,
        .most = 1U << 14U,
        .multiple = kCpWidth * kCpPointsPerThread},
       &CpSizes::size},
      {{.name = "atoms", .meaning = "atoms, in constant memory", .most = 4000}, &CpSizes::atoms}};

  Cp(const CpSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const CpSizes& sizes() const { return sizes_; }
  const CpArguments& arguments() const { return arguments_; }

private:
  CpSizes sizes_;
  std::vector<CpAtom> atoms_;
  CpArguments arguments_{};
};

}  // namespace isthmus::workloads

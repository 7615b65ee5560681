// Coulomb potential of atoms on a grid.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/cp_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 256 x 256 points, 200 atoms. The atoms are in constant memory, so nothing is copied to the heap;
/// the GPU clears the grid.
class Cp : public Workload {
public:
  static constexpr std::uint32_t kSize = 256;
  static constexpr std::uint32_t kNumAtoms = 200;

  explicit Cp(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const CpArguments& arguments() const { return arguments_; }

private:
  std::vector<CpAtom> atoms_;
  CpArguments arguments_{};
};

std::unique_ptr<Workload> make_cp(std::uint64_t seed);

}  // namespace isthmus::workloads

// A sparse matrix times a vector.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/spmv_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 262,144 rows, about 17 entries in each.
class Spmv : public Workload {
public:
  static constexpr std::uint32_t kNumRows = 1U << 18U;

  explicit Spmv(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const SpmvArguments& arguments() const { return arguments_; }

private:
  SpmvArguments arguments_{};
};

std::unique_ptr<Workload> make_spmv(std::uint64_t seed);

}  // namespace isthmus::workloads

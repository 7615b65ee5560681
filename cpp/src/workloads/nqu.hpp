// N queens.
#pragma once

#include <cstdint>
#include <memory>

#include "workloads/nqu_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// 10 queens. The host places the first two, the first one only in the left half of its row: the
/// GPU counts half of all solutions. Most threads have no task. The seed has no effect.
class Nqu : public Workload {
public:
  static constexpr std::uint32_t kNumQueens = 10;  // ISPASS'09; the repository's default is 8

  Nqu();

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const NquArguments& arguments() const { return arguments_; }
  /// The host's final sum.
  std::uint64_t num_ways() const;

private:
  void place_two();

  NquArguments arguments_{};
};

std::unique_ptr<Workload> make_nqu(std::uint64_t seed);

}  // namespace isthmus::workloads

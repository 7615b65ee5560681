// N queens.
#pragma once

#include <cstdint>

#include "workloads/evaluation/nqu_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct NquSizes {
  std::uint32_t queens = 10;  // ISPASS'09; the repository's default is 8
};

/// 10 queens. The host places the first two, the first one only in the left half of its row: the
/// GPU counts half of all solutions. Most threads have no task. The seed has no effect.
class Nqu : public Workload {
public:
  using Sizes = NquSizes;
  static constexpr SizeOf<NquSizes> kSizes[] = {{{.name = "queens",
                                                  .meaning = "queens, and columns of the board",
                                                  .least = 4,
                                                  .most = 14,
                                                  .multiple = 2},
                                                 &NquSizes::queens}};

  Nqu(const NquSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const NquSizes& sizes() const { return sizes_; }
  const NquArguments& arguments() const { return arguments_; }
  /// The host's final sum.
  std::uint64_t num_ways() const;

private:
  void place_two();

  NquSizes sizes_;
  NquArguments arguments_{};
};

}  // namespace isthmus::workloads

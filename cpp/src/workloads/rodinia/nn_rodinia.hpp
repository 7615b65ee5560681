// Nearest neighbours as in Rodinia.
#pragma once

#include <cstdint>

#include "workloads/rodinia/nn_rodinia_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct NnRodiniaSizes {
  std::uint32_t places = 42764;
};

/// The distances of hurricanes from a place; the CPU finds the smallest. It has nothing but its name
/// in common with Nn, a neural network. Zhang 2019 says that its NN is Rodinia's.
///
/// Source      Rodinia 3.1, cuda/nn (nn_cuda.cu); filelist_4 has 42,764 records
class NnRodinia : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 256;

  using Sizes = NnRodiniaSizes;
  static constexpr SizeOf<NnRodiniaSizes> kSizes[] = {
      {{.name = "places", .meaning = "places with distances", .least = 1, .most = 1U << 27U},
       &NnRodiniaSizes::places}};

  NnRodinia(const NnRodiniaSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const NnRodiniaArguments& arguments() const { return arguments_; }

private:
  NnRodiniaArguments arguments_{};
};

}  // namespace isthmus::workloads

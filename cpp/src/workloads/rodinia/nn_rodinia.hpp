// Nearest neighbours as in Rodinia.
//
// Distances of places from one place: a thread for each.
#pragma once

#include <cstdint>

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct NnRodiniaPlace {
  float latitude;
  float longitude;
};

struct NnRodiniaArguments {
  Array<NnRodiniaPlace> places;
  Array<float> distances;
  float latitude;
  float longitude;
};

// Instructions of a thread, counted in the source.
inline constexpr unsigned kNnRodiniaStart = 12;     ///< thread number, bounds, addresses
inline constexpr unsigned kNnRodiniaDistance = 14;  ///< two differences, squares, sum, square root

template <class Cta>
void nn_rodinia_distances(Cta& cta, const NnRodiniaArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto place = warp.thread() + cta.index() * cta.num_threads();
    warp.compute(kNnRodiniaStart);
    warp.when(place < static_cast<unsigned>(in.places.num_elements), [&] {
      const auto at = warp.load(in.places, place);
      const float latitude = in.latitude;
      const float longitude = in.longitude;
      warp.compute(kNnRodiniaDistance);
      warp.store(in.distances, place,
                 warp.map(
                     [=](const NnRodiniaPlace& one) {
                       const float north = latitude - one.latitude;
                       const float east = longitude - one.longitude;
                       return sqrtf(north * north + east * east);
                     },
                     at));
    });
  });
}

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

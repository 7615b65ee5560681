// Distances of places from one place: a thread for each.
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

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

}  // namespace isthmus::workloads

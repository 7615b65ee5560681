#include "workloads/rodinia/nn_rodinia.hpp"

#include <algorithm>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {

NnRodinia::NnRodinia(const NnRodiniaSizes& sizes, std::uint64_t seed) {
  arguments_.places = heap_.allocate<NnRodiniaPlace>("locations", sizes.places);
  arguments_.distances = heap_.allocate<float>("distances", sizes.places);
  arguments_.latitude = 30;
  arguments_.longitude = 90;
  RandomNumbers random(seed);
  std::generate_n(arguments_.places.values, sizes.places, [&] {
    const float latitude = 7 + 63 * random.uniform();
    return NnRodiniaPlace{latitude, 358 * random.uniform()};
  });
  trace::Launch& distances = program_.launches.emplace_back(
      launch("distances", (sizes.places + kThreadsPerCta - 1) / kThreadsPerCta, kThreadsPerCta));
  distances.before = {upload(arguments_.places)};
  program_.after = {download(arguments_.distances)};
  finish_program();
}

void NnRodinia::reset() {
  std::fill_n(arguments_.distances.values, arguments_.distances.num_elements, 0.0F);
}

void NnRodinia::run(std::uint32_t /*launch*/, Cta& cta) { nn_rodinia_distances(cta, arguments_); }

}  // namespace isthmus::workloads

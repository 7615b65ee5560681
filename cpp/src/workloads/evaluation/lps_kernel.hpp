// One Jacobi step of Laplace's equation in three dimensions: every inner point becomes the mean of
// its six neighbours; points on the boundary don't change. A CTA owns a column of 32 x 4 points and
// marches along the third dimension, with three planes of the column and its halo in shared memory.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct LpsArguments {
  Array<float> before;  ///< [size][size][size]
  Array<float> after;   ///< like before
  unsigned size;
  unsigned num_ctas_x;
};

inline constexpr unsigned kLpsWidth = 32;  ///< points of a CTA in the first dimension
inline constexpr unsigned kLpsHeight = 4;  ///< in the second
inline constexpr unsigned kLpsPitch = kLpsWidth + 2;
inline constexpr unsigned kLpsPlane = kLpsPitch * (kLpsHeight + 2);

// Instructions of a thread, calibrated: ISPASS'09 counts 82 M in total.
inline constexpr unsigned kLpsSetUp = 60;  ///< indices, bounds, rim
inline constexpr unsigned kLpsLoad = 12;   ///< addresses and a store to shared memory
inline constexpr unsigned kLpsPoint =
    54;  ///< six loads from shared memory, five additions, addresses

/// A thread's point, its place in a plane of shared memory, and the same for the halo point that it
/// also loads.
template <class Cta>
struct LpsThread {
  typename Cta::template Value<unsigned> point;
  typename Cta::template Value<unsigned> place;
  typename Cta::template Value<unsigned> rim_point;
  typename Cta::template Value<unsigned> rim_place;
  typename Cta::Condition inside;
  typename Cta::Condition inner;
  typename Cta::Condition has_rim;
};

// NOLINTBEGIN(bugprone-signed-bitwise): masks on the host; of a thread of a GPU they are bools
template <class Warp, class State>
void lps_set_up(Warp& warp, State& state, const LpsArguments& in, unsigned first_x,
                unsigned first_y) {
  const auto thread = warp.thread();
  const auto x = thread % kLpsWidth + first_x;
  const auto y = thread / kLpsWidth + first_y;
  const unsigned last = in.size - 1;
  state.inside = (x <= last) & (y <= last);
  state.inner = (x > 0) & (x < last) & (y > 0) & (y < last);
  state.point = y * in.size + x;
  state.place = (thread / kLpsWidth + 1) * kLpsPitch + thread % kLpsWidth + 1;
  // The first threads take the rows above and below, including corners; then left and right.
  const auto is_row = thread < 2 * kLpsPitch;
  const auto side = thread - 2 * kLpsPitch;
  const auto column = warp.select(is_row, thread % kLpsPitch, side % 2 * (kLpsWidth + 1));
  const auto row = warp.select(is_row, thread / kLpsPitch * (kLpsHeight + 1), side / 2 + 1);
  // One more than the coordinates: halo coordinates may be -1.
  const auto rim_x = column + first_x;
  const auto rim_y = row + first_y;
  state.has_rim = (thread < 2 * (kLpsPitch + kLpsHeight)) & (rim_x > 0) & (rim_x <= in.size) &
                  (rim_y > 0) & (rim_y <= in.size);
  state.rim_point = (rim_y - 1) * in.size + rim_x - 1;
  state.rim_place = row * kLpsPitch + column;
  warp.compute(kLpsSetUp);
}
// NOLINTEND(bugprone-signed-bitwise)

template <class Warp, class State>
void lps_load_plane(Warp& warp, const State& state, const LpsArguments& in, unsigned z,
                    float* plane) {
  const unsigned first = z * in.size * in.size;
  warp.compute(2);
  warp.when(state.inside, [&] {
    warp.compute(kLpsLoad);
    warp.write(plane, state.place, warp.load(in.before, state.point + first));
  });
  warp.when(state.has_rim, [&] {
    warp.compute(kLpsLoad);
    warp.write(plane, state.rim_place, warp.load(in.before, state.rim_point + first));
  });
}

template <class Warp, class State>
void lps_point(Warp& warp, const State& state, const LpsArguments& in, unsigned z,
               const float* (&planes)[3]) {
  warp.when(state.inside, [&] {
    const auto here = state.place;
    auto value = warp.read(planes[1], here);
    warp.compute(kLpsPoint);
    if (z > 0 && z + 1 < in.size) {
      const auto sum = warp.read(planes[1], here - 1) + warp.read(planes[1], here + 1) +
                       warp.read(planes[1], here - kLpsPitch) +
                       warp.read(planes[1], here + kLpsPitch) + warp.read(planes[0], here) +
                       warp.read(planes[2], here);
      value = warp.select(state.inner, sum * (1.0F / 6.0F), value);
    }
    warp.store(in.after, state.point + z * in.size * in.size, value);
  });
}

template <class Cta>
void lps_step(Cta& cta, const LpsArguments& in) {
  // The planes below, at and above the current one.
  float* shared[3] = {cta.template shared<float>(kLpsPlane), cta.template shared<float>(kLpsPlane),
                      cta.template shared<float>(kLpsPlane)};
  auto states = cta.template per_warp<LpsThread<Cta>>();
  cta.each_warp([&](auto& warp) {
    lps_set_up(warp, states[warp.index()], in, cta.index() % in.num_ctas_x * kLpsWidth,
               cta.index() / in.num_ctas_x * kLpsHeight);
    lps_load_plane(warp, states[warp.index()], in, 0, shared[0]);
  });
  for (unsigned z = 0; z < in.size; ++z) {
    cta.each_warp([&](auto& warp) {
      if (z + 1 < in.size)
        lps_load_plane(warp, states[warp.index()], in, z + 1, shared[(z + 1) % 3]);
    });
    cta.barrier();
    cta.each_warp([&](auto& warp) {
      const float* planes[3] = {shared[(z + 2) % 3], shared[z % 3], shared[(z + 1) % 3]};
      lps_point(warp, states[warp.index()], in, z, planes);
    });
    cta.barrier();
  }
}

}  // namespace isthmus::workloads

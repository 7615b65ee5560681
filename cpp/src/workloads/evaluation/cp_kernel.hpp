// Coulomb potential: adds the contributions of all atoms to each point of one plane of a grid. A
// thread computes two points of a row, which share the part of the distance across rows.
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

struct CpAtom {
  float x;
  float y;
  float z_squared;  ///< distance from the plane, squared
  float charge;
};

struct CpArguments {
  const CpAtom* atoms;  ///< constant memory
  unsigned num_atoms;
  Array<float> potential;  ///< [height][width]
  unsigned width;
  float spacing;
};

inline constexpr unsigned kCpWidth = 16;  ///< threads in a row of a CTA
inline constexpr unsigned kCpHeight = 8;
inline constexpr unsigned kCpPointsPerThread = 2;

// Instructions of a thread, calibrated: ISPASS'09 counts 126 M in total.
inline constexpr unsigned kCpSetUp = 38;  ///< indices, coordinates
inline constexpr unsigned kCpAtom = 19;   ///< for both points: four loads, two roots, loop
inline constexpr unsigned kCpPoint = 3;   ///< address, addition

template <class Cta>
void cp_plane(Cta& cta, const CpArguments& in) {
  const unsigned ctas_in_row = in.width / (kCpWidth * kCpPointsPerThread);
  cta.each_warp([&](auto& warp) {
    const auto x =
        warp.thread() % kCpWidth + cta.index() % ctas_in_row * (kCpWidth * kCpPointsPerThread);
    const auto y = warp.thread() / kCpWidth + cta.index() / ctas_in_row * kCpHeight;
    const float spacing = in.spacing;
    const auto to_length = [spacing](unsigned i) { return static_cast<float>(i) * spacing; };
    const auto first_x = warp.map(to_length, x);
    const auto second_x = warp.map(to_length, x + kCpWidth);
    const auto own_y = warp.map(to_length, y);
    auto first = warp.lanes(0.0F);
    auto second = warp.lanes(0.0F);
    warp.compute(kCpSetUp);
    for (unsigned i = 0; i < in.num_atoms; ++i) {
      const CpAtom atom = in.atoms[i];
      const auto add = [atom](float sum, float px, float py) {
        const float dx = px - atom.x;
        const float dy = py - atom.y;
        return sum + atom.charge / sqrtf(dx * dx + dy * dy + atom.z_squared);
      };
      first = warp.map(add, first, first_x, own_y);
      second = warp.map(add, second, second_x, own_y);
      warp.compute(kCpAtom);
    }
    const auto point = y * in.width + x;
    warp.compute(kCpPoint);
    warp.store(in.potential, point, warp.load(in.potential, point) + first);
    warp.compute(kCpPoint);
    warp.store(in.potential, point + kCpWidth, warp.load(in.potential, point + kCpWidth) + second);
  });
}

}  // namespace isthmus::workloads

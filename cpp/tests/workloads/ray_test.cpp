#include "workloads/evaluation/ray.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;
using Vector = std::array<double, 3>;

Recorded<RayTracer>& ray() {
  static Recorded<RayTracer> run(std::make_unique<RayTracer>(RaySizes(), 1));
  return run;
}

Vector vector_of(RayVector v) {
  return {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
}
Vector along(const Vector& a, const Vector& b, double s) {
  return {a[0] + b[0] * s, a[1] + b[1] * s, a[2] + b[2] * s};
}
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector unit(const Vector& a) { return along({0, 0, 0}, a, 1 / std::sqrt(dot(a, a))); }

struct Surface {
  double distance;
  Vector point, normal, color;
  double mirror;
};

/// The nearest surface, from the quadratic equation of each sphere, in doubles.
std::optional<Surface> nearest(const RayArguments& in, const Vector& origin, const Vector& to) {
  std::optional<Surface> best;
  const double floor = -origin[1] / to[1];
  if (floor > 1e-3 && floor < 1e9) {
    const Vector point = along(origin, to, floor);
    const bool dark =
        (static_cast<long>(std::floor(point[0])) + static_cast<long>(std::floor(point[2]))) % 2 ==
        0;
    const double grey = dark ? 0.2 : 0.9;
    best = Surface{floor, point, {0, 1, 0}, {grey, grey, grey}, 0.2};
  }
  for (unsigned i = 0; i < in.num_spheres; ++i) {
    const RaySphere& sphere = in.spheres[i];
    const Vector center = vector_of(sphere.center);
    const auto radius = static_cast<double>(sphere.radius);
    const Vector from = along(origin, center, -1);
    const double b = 2 * dot(from, to);
    const double root = b * b - 4 * (dot(from, from) - radius * radius);
    if (root < 0) continue;
    for (const double t : {(-b - std::sqrt(root)) / 2, (-b + std::sqrt(root)) / 2}) {
      if (t < 1e-3 || (best && t >= best->distance)) continue;
      const Vector point = along(origin, to, t);
      best = Surface{t, point, unit(along(point, center, -1)), vector_of(sphere.color),
                     static_cast<double>(sphere.mirror)};
    }
  }
  return best;
}

/// Recursive. `share` is how much of this light reaches the pixel.
Vector light_from(const RayArguments& in, const Vector& origin, const Vector& to, double share,
                  unsigned mirrors) {
  if (share <= 0.02 || mirrors == 5) return {0, 0, 0};
  const std::optional<Surface> surface = nearest(in, origin, to);
  if (!surface) {
    const double height = 0.5 + 0.5 * to[1];
    return {share * 0.6 * height, share * 0.7 * height, share * height};
  }
  const Vector path = along(vector_of(in.light), surface->point, -1);
  const double facing = dot(surface->normal, unit(path));
  bool lit = facing > 0;
  if (lit) {
    const std::optional<Surface> shadow = nearest(in, surface->point, unit(path));
    lit = !shadow || shadow->distance > std::sqrt(dot(path, path));
  }
  const Vector mirrored = along(to, surface->normal, -2 * dot(to, surface->normal));
  const Vector rest =
      light_from(in, surface->point, mirrored, share * surface->mirror, mirrors + 1);
  return along(rest, surface->color,
               share * (1 - surface->mirror) * (lit ? 0.1 + 0.9 * facing : 0.1));
}

Vector expected_pixel(const RayArguments& in, unsigned x, unsigned y) {
  const double scale = 2.0 / RaySizes().size;
  return light_from(in, {0, 1, -4}, unit({x * scale - 1, 1 - y * scale - 0.2, 2}), 1, 0);
}

TEST(RayTracer, DrawsThePictureThatRecursionInDoublesDraws) {
  const RayArguments& in = ray().program.arguments();
  unsigned num_different = 0;
  for (unsigned y = 0; y < RaySizes().size; ++y)
    for (unsigned x = 0; x < RaySizes().size; ++x) {
      const Vector expected = expected_pixel(in, x, y);
      const unsigned pixel = in.pixels.values[y * RaySizes().size + x];
      for (unsigned color = 0; color < 3; ++color) {
        const double wanted = std::min(255.0, expected[color] * 255);
        if (std::abs((pixel >> (8 * color) & 0xFFU) - wanted) > 2) {
          ++num_different;
          break;
        }
      }
    }
  // At edges, floats and doubles may hit different surfaces.
  EXPECT_LT(num_different, RaySizes().size * RaySizes().size / 100);
}

TEST(RayTracer, ThePictureHasManyColors) {
  const RayArguments& in = ray().program.arguments();
  const std::set<unsigned> colors(in.pixels.values,
                                  in.pixels.values + RaySizes().size * RaySizes().size);
  EXPECT_GT(colors.size(), 1000U);
}

TEST(RayTracer, IsAsLargeAsTheOriginal) {
  EXPECT_LT(ray().counted.upload_kib, 1);  // ispass2009
  EXPECT_EQ(ray().counted.touched_kib, 256);
  EXPECT_EQ(ray().counted.pages, 1U);
  EXPECT_EQ(ray().program.program().allocations[0].size_bytes, 4096U * 1024);
}

TEST(RayTracer, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(ray().counted.millions(), 71, 2);  // ISPASS'09, Table 1
}

}  // namespace
}  // namespace isthmus::workloads

// Ray tracing of reflecting spheres over a floor: a thread follows a pixel's ray from reflection to
// reflection, as long as it still contributes.
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

struct RayVector {
  float x;
  float y;
  float z;

  friend RayVector operator+(RayVector a, RayVector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend RayVector operator-(RayVector a, RayVector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend RayVector operator*(RayVector a, float s) { return {a.x * s, a.y * s, a.z * s}; }
};

struct RaySphere {
  RayVector center;
  float radius;
  RayVector color;
  float mirror;  ///< the share of light that it reflects
};

struct RayArguments {
  const RaySphere* spheres;  ///< constant memory
  unsigned num_spheres;
  RayVector light;         ///< its position
  Array<unsigned> pixels;  ///< [size][size]; red, green, blue in the lowest bytes
  unsigned size;
};

inline constexpr unsigned kRayWidth = 16;  ///< in a row of a CTA
inline constexpr unsigned kRayHeight = 8;
inline constexpr unsigned kRayMaxMirrors = 5;
inline constexpr float kRayMinShare = 0.02F;
inline constexpr float kRayFar = 1e9F;
inline constexpr float kRayNear = 1e-3F;  ///< anything nearer is the surface where the ray starts
inline constexpr float kRayFloorMirror = 0.2F;

// Instructions of a thread, calibrated: ISPASS'09 counts 71 M in total.
inline constexpr unsigned kRaySetUp = 40;
inline constexpr unsigned kRaySphereTest = 47;
inline constexpr unsigned kRayShade = 220;
inline constexpr unsigned kRayEnd = 30;  ///< to a pixel's bytes

inline float ray_dot(RayVector a, RayVector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline RayVector ray_unit(RayVector a) { return a * (1 / sqrtf(ray_dot(a, a))); }

/// A ray, the object that it hits, and the share of its light that reaches a pixel.
struct Ray {
  RayVector origin;
  RayVector direction;
};
struct RayHit {
  float distance;
  unsigned object;  ///< a sphere; num_spheres: the floor; one more: nothing
};

/// The distance to the sphere; kRayFar if the ray misses it.
inline float ray_to_sphere(const RaySphere& sphere, const Ray& ray) {
  const RayVector to = sphere.center - ray.origin;
  const float along = ray_dot(to, ray.direction);
  const float root = along * along - ray_dot(to, to) + sphere.radius * sphere.radius;
  if (!(root >= 0)) return kRayFar;
  const float half = sqrtf(root);
  if (along - half > kRayNear) return along - half;
  return along + half > kRayNear ? along + half : kRayFar;
}

inline RayHit ray_nearest(const RayArguments& in, const Ray& ray) {
  RayHit nearest{kRayFar, in.num_spheres + 1};
  const float to_floor = -ray.origin.y / ray.direction.y;  // the floor is y = 0
  if (to_floor > kRayNear && to_floor < kRayFar) nearest = {to_floor, in.num_spheres};
  for (unsigned i = 0; i < in.num_spheres; ++i) {
    const float distance = ray_to_sphere(in.spheres[i], ray);
    if (distance < nearest.distance) nearest = {distance, i};
  }
  return nearest;
}

struct RaySurface {
  RayVector point;
  RayVector normal;
  RayVector color;
  float mirror;
};

inline RaySurface ray_surface(const RayArguments& in, const Ray& ray, const RayHit& hit) {
  const RayVector point = ray.origin + ray.direction * hit.distance;
  if (hit.object < in.num_spheres) {
    const RaySphere& sphere = in.spheres[hit.object];
    return {point, (point - sphere.center) * (1 / sphere.radius), sphere.color, sphere.mirror};
  }
  const bool is_dark =
      (static_cast<int>(floorf(point.x)) + static_cast<int>(floorf(point.z))) % 2 == 0;
  const float grey = is_dark ? 0.2F : 0.9F;
  return {point, {0, 1, 0}, {grey, grey, grey}, kRayFloorMirror};
}

/// The surface's own light: little in the shadow.
inline RayVector ray_shade(const RayArguments& in, const RaySurface& surface) {
  const RayVector to_light = in.light - surface.point;
  const float distance = sqrtf(ray_dot(to_light, to_light));
  const Ray shadow{surface.point, to_light * (1 / distance)};
  const float facing = ray_dot(surface.normal, shadow.direction);
  const bool is_lit = facing > 0 && ray_nearest(in, shadow).distance > distance;
  return surface.color * (is_lit ? 0.1F + 0.9F * facing : 0.1F);
}

inline RayVector ray_sky(const Ray& ray) {
  const float height = 0.5F + 0.5F * ray.direction.y;
  return {0.6F * height, 0.7F * height, height};
}

/// The ray of a pixel.
inline Ray ray_of_pixel(const RayArguments& in, unsigned x, unsigned y) {
  const float scale = 2 / static_cast<float>(in.size);
  const RayVector target{static_cast<float>(x) * scale - 1, 1 - static_cast<float>(y) * scale, 0};
  return {{0, 1, -4}, ray_unit(target + RayVector{0, -0.2F, 2})};
}

inline unsigned ray_pixel(RayVector color) {
  const auto byte = [](float value) {
    const float scaled = value * 255 + 0.5F;
    return static_cast<unsigned>(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
  };
  return byte(color.x) | byte(color.y) << 8U | byte(color.z) << 16U;
}

/// The state of the rays that a warp follows.
template <class Rays, class Color, class Share>
struct RayState {
  Rays ray;
  Color color;
  Share share;  ///< of the light from here that reaches the pixel
};

/// One step: finds the next surface, and adds its light to the color.
template <class Warp, class State>
void ray_step(Warp& warp, const RayArguments& in, State& state) {
  const auto hit = warp.map([&in](const Ray& ray) { return ray_nearest(in, ray); }, state.ray);
  warp.compute((in.num_spheres + 1) * kRaySphereTest);
  const auto meets = warp.test([&in](const RayHit& h) { return h.object <= in.num_spheres; }, hit);
  const auto add = [](RayVector color, RayVector light, float share) {
    return color + light * share;
  };
  warp.when(
      meets,
      [&] {
        const auto surface = warp.map(
            [&in](const Ray& r, const RayHit& h) { return ray_surface(in, r, h); }, state.ray, hit);
        const auto mirror = warp.map([](const RaySurface& s) { return s.mirror; }, surface);
        const auto light =
            warp.map([&in](const RaySurface& s) { return ray_shade(in, s); }, surface);
        warp.compute(kRayShade + (in.num_spheres + 1) * kRaySphereTest);
        warp.set(state.color, warp.map(add, state.color, light, state.share * (1.0F - mirror)));
        warp.set(state.share, state.share * mirror);
        warp.set(state.ray, warp.map(
                                [](const Ray& r, const RaySurface& s) {
                                  const float across = 2 * ray_dot(r.direction, s.normal);
                                  return Ray{s.point, r.direction - s.normal * across};
                                },
                                state.ray, surface));
      },
      [&] {
        warp.set(state.color,
                 warp.map(add, state.color, warp.map(ray_sky, state.ray), state.share));
        warp.set(state.share, 0.0F);
      });
}

template <class Cta>
void ray_pixels(Cta& cta, const RayArguments& in) {
  const unsigned ctas_in_row = in.size / kRayWidth;
  cta.each_warp([&](auto& warp) {
    const auto x = warp.thread() % kRayWidth + cta.index() % ctas_in_row * kRayWidth;
    const auto y = warp.thread() / kRayWidth + cta.index() / ctas_in_row * kRayHeight;
    const auto first = [&in](unsigned px, unsigned py) { return ray_of_pixel(in, px, py); };
    RayState<typename Cta::template Value<Ray>, typename Cta::template Value<RayVector>,
             typename Cta::template Value<float>>
        state{warp.map(first, x, y), warp.lanes(RayVector{0, 0, 0}), warp.lanes(1.0F)};
    warp.compute(kRaySetUp);
    auto mirrors = warp.lanes(0U);
    warp.loop([&] { return (state.share > kRayMinShare) & (mirrors < kRayMaxMirrors); },
              [&] {
                ray_step(warp, in, state);
                warp.set(mirrors, mirrors + 1);
              });
    warp.compute(kRayEnd);
    warp.store(in.pixels, y * in.size + x, warp.map(ray_pixel, state.color));
  });
}

}  // namespace isthmus::workloads

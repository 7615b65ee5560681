// Weather: how vapor, cloud water, cloud ice, rain and snow in a column of air change in one time
// step. A simplified single-moment scheme with five classes of water, similar to WSM5: a thread has
// a column of 28 levels, and keeps its profiles in local memory.
//
// Source      warm rain: Kessler: On the distribution and continuity of water substance, 1969;
//             saturation: Bolton 1980 (water), Murray 1967 (ice). Other rates are simple stand-ins.
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

inline constexpr unsigned kWpLevels = 28;

/// Fields of the domain, [row][level][column]; the surface's [row][column].
struct WpArguments {
  Array<float> theta;     ///< potential temperature, K
  Array<float> exner;     ///< temperature / theta
  Array<float> water[5];  ///< kg/kg of vapor, cloud, ice, rain, snow
  Array<float> density;   ///< kg/m3
  Array<float> pressure;  ///< Pa
  Array<float> depth;     ///< of a level, m
  Array<float> rain;      ///< kg/m2, total so far
  Array<float> rain_now;  ///< in this step
  Array<float> snow;
  Array<float> snow_now;
  Array<float> snow_share;
  unsigned num_columns;  ///< in a row
  float step_s;
};

/// Profiles in local memory, each of kWpLevels words.
namespace wp {
enum Profile : unsigned {
  vapor,
  cloud,
  ice,
  rain,
  snow,
  temperature,
  density,
  pressure,
  depth,
  over_water,
  over_ice,
  rain_speed,
  snow_speed,
  conversion,
  accretion,
  evaporation,
  melting,
  ice_conversion,
  riming,
  deposition,
  freezing,
  heating,
  vapor_change,
  cloud_change,
  ice_change,
  rain_change,
  num_profiles
};
}  // namespace wp

inline constexpr unsigned kWpLocalWords = wp::num_profiles * kWpLevels;
inline constexpr float kWpFreezing = 273.15F;    ///< K
inline constexpr float kWpAllFreezes = 233.15F;  ///< K: below, cloud water freezes
inline constexpr float kWpVaporHeat = 2.5e6F;    ///< J/kg
inline constexpr float kWpMeltingHeat = 3.5e5F;  ///< J/kg
inline constexpr float kWpAirHeat = 1004.5F;     ///< J/kg/K
inline constexpr float kWpVaporGas = 461.6F;     ///< J/kg/K
inline constexpr float kWpMaxSteps = 32;         ///< of falling

// Instructions of a thread, calibrated: ISPASS'09 counts 215 M in total.
inline constexpr unsigned kWpSetUp = 60;
inline constexpr unsigned kWpLoad = 75;         ///< of a level: ten addresses
inline constexpr unsigned kWpSaturation = 190;  ///< two exponentials, divisions
inline constexpr unsigned kWpSpeed = 180;       ///< two powers
inline constexpr unsigned kWpFall = 28;         ///< of a level in one step of falling
inline constexpr unsigned kWpWarm = 250;
inline constexpr unsigned kWpCold = 280;
inline constexpr unsigned kWpChange = 80;
inline constexpr unsigned kWpCondense = 200;

inline float wp_at_least_0(float value) { return value > 0 ? value : 0.0F; }
inline float wp_least(float a, float b) { return a < b ? a : b; }

inline float wp_saturation(float vapor_pressure, float pressure) {
  return 0.622F * vapor_pressure / (pressure - vapor_pressure);
}
inline float wp_over_water(float t, float pressure) {
  return wp_saturation(611.2F * expf(17.67F * (t - 273.15F) / (t - 29.65F)), pressure);
}
inline float wp_over_ice(float t, float pressure) {
  return wp_saturation(611.2F * expf(21.8745584F * (t - 273.16F) / (t - 7.66F)), pressure);
}

/// A thread's column: its position, and its local memory.
template <class Warp, class Local, class Index>
struct WpColumn {
  Warp& warp;
  Local& local;
  Index first;    ///< in the domain's fields, at the lowest level
  Index surface;  ///< in the surface's fields

  auto get(unsigned profile, unsigned level) {
    return warp.load(local, profile * kWpLevels + level);
  }
  template <class Value>
  void put(unsigned profile, unsigned level, const Value& value) {
    warp.store(local, profile * kWpLevels + level, value);
  }
};

template <class Column>
void wp_load(Column& column, const WpArguments& in) {
  auto& warp = column.warp;
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto place = column.first + k * in.num_columns;
    for (unsigned kind = 0; kind < 5; ++kind)
      column.put(wp::vapor + kind, k, warp.map(wp_at_least_0, warp.load(in.water[kind], place)));
    column.put(wp::temperature, k, warp.load(in.theta, place) * warp.load(in.exner, place));
    column.put(wp::density, k, warp.load(in.density, place));
    column.put(wp::pressure, k, warp.load(in.pressure, place));
    column.put(wp::depth, k, warp.load(in.depth, place));
    warp.compute(kWpLoad);
  }
}

template <class Column>
void wp_saturate(Column& column) {
  auto& warp = column.warp;
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto t = column.get(wp::temperature, k);
    const auto pressure = column.get(wp::pressure, k);
    column.put(wp::over_water, k, warp.map(wp_over_water, t, pressure));
    column.put(wp::over_ice, k, warp.map(wp_over_ice, t, pressure));
    warp.compute(kWpSaturation);
  }
}

/// The fall speeds of rain and snow, m/s.
template <class Column>
void wp_speeds(Column& column) {
  auto& warp = column.warp;
  const auto of_rain = [](float q, float d) { return 14.16F * powf(d * q, 0.1364F) / sqrtf(d); };
  const auto of_snow = [](float q, float d) { return 2.5F * powf(d * q, 0.06F) / sqrtf(d); };
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto density = column.get(wp::density, k);
    column.put(wp::rain_speed, k, warp.map(of_rain, column.get(wp::rain, k), density));
    column.put(wp::snow_speed, k, warp.map(of_snow, column.get(wp::snow, k), density));
    warp.compute(kWpSpeed);
  }
}

/// The number of steps in which nothing falls through more than one level.
template <class Column>
auto wp_num_steps(Column& column, const WpArguments& in, unsigned speed) {
  auto& warp = column.warp;
  auto steps = warp.lanes(1.0F);
  const float step_s = in.step_s;
  const auto needed = [=](float most, float v, float depth) {
    const float levels = ceilf(v * step_s / depth);
    return wp_least(levels > most ? levels : most, kWpMaxSteps);
  };
  for (unsigned k = 0; k < kWpLevels; ++k) {
    steps = warp.map(needed, steps, column.get(speed, k), column.get(wp::depth, k));
    warp.compute(kWpFall);
  }
  return steps;
}

/// Lets rain or snow fall; returns what reaches the ground, kg/m2.
template <class Column>
auto wp_fall(Column& column, const WpArguments& in, unsigned kind, unsigned speed) {
  auto& warp = column.warp;
  const auto steps = wp_num_steps(column, in, speed);
  const auto short_s = warp.lanes(in.step_s) / steps;
  auto ground = warp.lanes(0.0F);
  auto done = warp.lanes(0.0F);
  warp.loop([&] { return done < steps; },
            [&] {
              auto above = warp.lanes(0.0F);
              for (unsigned k = kWpLevels; k-- > 0;) {
                const auto depth = column.get(wp::depth, k);
                const auto mass = column.get(wp::density, k) * depth;
                const auto content = column.get(kind, k) * mass;
                const auto share = [](float v, float s, float d) { return wp_least(v * s / d, 1); };
                const auto out = content * warp.map(share, column.get(speed, k), short_s, depth);
                column.put(kind, k, (content - out + above) / mass);
                warp.set(above, out);
                warp.compute(kWpFall);
              }
              warp.set(ground, ground + above);
              warp.set(done, done + 1.0F);
            });
  return ground;
}

/// The processes of cloud and rain, above freezing and below.
template <class Column>
void wp_warm_rates(Column& column, const WpArguments& in) {
  auto& warp = column.warp;
  const float step_s = in.step_s;
  const auto convert = [=](float cloud) {
    return wp_least(cloud, step_s * 1e-3F * wp_at_least_0(cloud - 5e-4F));
  };
  const auto accrete = [=](float cloud, float rain, float converted) {
    return wp_least(cloud - converted, step_s * 2.2F * cloud * powf(rain, 0.875F));
  };
  const auto evaporate = [=](float vapor, float most, float rain, float density) {
    const float dry = wp_at_least_0(1 - vapor / most);
    return wp_least(wp_least(rain, 0.5F * wp_at_least_0(most - vapor)),
                    step_s * 5e-4F * dry * sqrtf(density * rain));
  };
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto cloud = column.get(wp::cloud, k);
    const auto rain = column.get(wp::rain, k);
    const auto converted = warp.map(convert, cloud);
    column.put(wp::conversion, k, converted);
    column.put(wp::accretion, k, warp.map(accrete, cloud, rain, converted));
    column.put(wp::evaporation, k,
               warp.map(evaporate, column.get(wp::vapor, k), column.get(wp::over_water, k), rain,
                        column.get(wp::density, k)));
    warp.compute(kWpWarm);
  }
}

/// The processes of ice and snow.
template <class Column>
void wp_cold_rates(Column& column, const WpArguments& in) {
  auto& warp = column.warp;
  const float step_s = in.step_s;
  const auto melt = [=](float t, float snow) {
    return wp_least(snow, step_s * 2e-4F * wp_at_least_0(t - kWpFreezing) * sqrtf(snow));
  };
  const auto convert = [=](float ice) {
    return wp_least(ice, step_s * 1e-3F * wp_at_least_0(ice - 1e-4F));
  };
  const auto rime = [=](float t, float left, float snow) {
    return t < kWpFreezing ? wp_least(left, step_s * left * powf(snow, 0.8F)) : 0.0F;
  };
  const auto deposit = [](float t, float vapor, float most) {
    return t < kWpFreezing ? 0.1F * wp_at_least_0(vapor - most) : 0.0F;
  };
  const auto freeze = [](float t, float left) { return t < kWpAllFreezes ? left : 0.0F; };
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto t = column.get(wp::temperature, k);
    const auto snow = column.get(wp::snow, k);
    column.put(wp::melting, k, warp.map(melt, t, snow));
    column.put(wp::ice_conversion, k, warp.map(convert, column.get(wp::ice, k)));
    auto left =
        column.get(wp::cloud, k) - column.get(wp::conversion, k) - column.get(wp::accretion, k);
    const auto rimed = warp.map(rime, t, left, snow);
    column.put(wp::riming, k, rimed);
    column.put(wp::freezing, k, warp.map(freeze, t, left - rimed));
    column.put(wp::deposition, k,
               warp.map(deposit, t, column.get(wp::vapor, k), column.get(wp::over_ice, k)));
    warp.compute(kWpCold);
  }
}

/// Converts rates to changes, and applies them.
template <class Column>
void wp_change(Column& column) {
  auto& warp = column.warp;
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto rained = column.get(wp::conversion, k) + column.get(wp::accretion, k);
    const auto evaporated = column.get(wp::evaporation, k);
    const auto melted = column.get(wp::melting, k);
    const auto rimed = column.get(wp::riming, k);
    const auto frozen = column.get(wp::freezing, k);
    const auto deposited = column.get(wp::deposition, k);
    const auto snowed = column.get(wp::ice_conversion, k);
    column.put(wp::vapor_change, k, evaporated - deposited);
    column.put(wp::cloud_change, k, warp.lanes(0.0F) - rained - rimed - frozen);
    column.put(wp::ice_change, k, deposited + frozen - snowed);
    column.put(wp::rain_change, k, rained + melted - evaporated);
    column.put(wp::heating, k,
               ((deposited - evaporated) * kWpVaporHeat +
                (deposited + rimed + frozen - melted) * kWpMeltingHeat) *
                   (1 / kWpAirHeat));
    column.put(wp::snow, k, column.get(wp::snow, k) + snowed + rimed - melted);
    warp.compute(kWpChange);
  }
  for (unsigned k = 0; k < kWpLevels; ++k) {
    for (unsigned kind = 0; kind < 4; ++kind)
      column.put(wp::vapor + kind, k,
                 column.get(wp::vapor + kind, k) + column.get(wp::vapor_change + kind, k));
    column.put(wp::temperature, k, column.get(wp::temperature, k) + column.get(wp::heating, k));
    warp.compute(kWpChange);
  }
}

/// Vapor beyond saturation becomes cloud; cloud in dry air becomes vapor.
template <class Column>
void wp_condense(Column& column) {
  auto& warp = column.warp;
  const auto condensed = [](float t, float pressure, float vapor, float cloud) {
    const float most = wp_over_water(t, pressure);
    const float slope = kWpVaporHeat * kWpVaporHeat * most / (kWpAirHeat * kWpVaporGas * t * t);
    const float excess = (vapor - most) / (1 + slope);
    return excess > -cloud ? excess : -cloud;
  };
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto t = column.get(wp::temperature, k);
    const auto vapor = column.get(wp::vapor, k);
    const auto cloud = column.get(wp::cloud, k);
    const auto amount = warp.map(condensed, t, column.get(wp::pressure, k), vapor, cloud);
    column.put(wp::vapor, k, vapor - amount);
    column.put(wp::cloud, k, cloud + amount);
    column.put(wp::temperature, k, t + amount * (kWpVaporHeat / kWpAirHeat));
    warp.compute(kWpCondense);
  }
}

template <class Column, class Value>
void wp_store(Column& column, const WpArguments& in, const Value& rain, const Value& snow) {
  auto& warp = column.warp;
  for (unsigned k = 0; k < kWpLevels; ++k) {
    const auto place = column.first + k * in.num_columns;
    for (unsigned kind = 0; kind < 5; ++kind)
      warp.store(in.water[kind], place, column.get(wp::vapor + kind, k));
    warp.store(in.theta, place, column.get(wp::temperature, k) / warp.load(in.exner, place));
    warp.compute(kWpLoad);
  }
  const auto share = [](float r, float s) { return r + s > 0 ? s / (r + s) : 0.0F; };
  warp.store(in.rain, column.surface, warp.load(in.rain, column.surface) + rain);
  warp.store(in.rain_now, column.surface, rain);
  warp.store(in.snow, column.surface, warp.load(in.snow, column.surface) + snow);
  warp.store(in.snow_now, column.surface, snow);
  warp.store(in.snow_share, column.surface, warp.map(share, rain, snow));
}

inline constexpr unsigned kWpWidth = 8;  ///< in a CTA, in both directions

template <class Cta>
void wp_step(Cta& cta, const WpArguments& in) {
  const unsigned ctas_in_row = in.num_columns / kWpWidth;
  cta.each_warp([&](auto& warp) {
    const auto x = warp.thread() % kWpWidth + cta.index() % ctas_in_row * kWpWidth;
    const auto y = warp.thread() / kWpWidth + cta.index() / ctas_in_row * kWpWidth;
    auto local = warp.template local<float, kWpLocalWords>();
    using Index = typename Cta::template Value<unsigned>;
    WpColumn<decltype(warp), decltype(local), Index> column{
        warp, local, y * (kWpLevels * in.num_columns) + x, y * in.num_columns + x};
    warp.compute(kWpSetUp);
    wp_load(column, in);
    wp_speeds(column);
    const auto rain = wp_fall(column, in, wp::rain, wp::rain_speed);
    const auto snow = wp_fall(column, in, wp::snow, wp::snow_speed);
    wp_saturate(column);
    wp_warm_rates(column, in);
    wp_cold_rates(column, in);
    wp_change(column);
    wp_condense(column);
    wp_store(column, in, rain, snow);
  });
}

}  // namespace isthmus::workloads

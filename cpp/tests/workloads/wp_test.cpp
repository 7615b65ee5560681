#include "workloads/evaluation/physics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;
using Profile = std::array<double, kWpLevels>;

enum Field { kTheta, kExner, kVapor, kCloud, kIce, kRain, kSnow, kDensity, kPressure, kDepth };

Recorded<Weather>& wp() {
  static Recorded<Weather> run(std::make_unique<Weather>(WeatherSizes(), 1));
  return run;
}

/// A column in doubles, level by level, following the scheme's description.
struct Column {
  std::array<Profile, 10> f{};
  double rain_now = 0;
  double snow_now = 0;

  Column(const std::vector<std::vector<float>>& fields, unsigned x, unsigned y) {
    for (std::size_t field = 0; field < 10; ++field)
      for (unsigned k = 0; k < kWpLevels; ++k)
        f[field][k] =
            static_cast<double>(fields[field][(y * kWpLevels + k) * WeatherSizes().columns + x]);
  }

  double water_kg() const {
    double sum = rain_now + snow_now;
    for (unsigned k = 0; k < kWpLevels; ++k)
      for (int kind = kVapor; kind <= kSnow; ++kind)
        sum += f[static_cast<std::size_t>(kind)][k] * f[kDensity][k] * f[kDepth][k];
    return sum;
  }

  double fall(Profile& q, double factor, double power) const {
    Profile v{};
    double steps = 1;
    for (unsigned k = 0; k < kWpLevels; ++k) {
      v[k] = factor * std::pow(f[kDensity][k] * q[k], power) / std::sqrt(f[kDensity][k]);
      steps = std::max(steps, std::min(32.0, std::ceil(v[k] * 60 / f[kDepth][k])));
    }
    double ground = 0;
    for (int step = 0; step < static_cast<int>(steps); ++step) {
      double above = 0;
      for (int k = kWpLevels - 1; k >= 0; --k) {
        const auto level = static_cast<std::size_t>(k);
        const double mass = f[kDensity][level] * f[kDepth][level];
        const double out =
            q[level] * mass * std::min(1.0, v[level] * 60 / steps / f[kDepth][level]);
        q[level] += (above - out) / mass;
        above = out;
      }
      ground += above;
    }
    return ground;
  }

  static double saturation(double es, double p) { return 0.622 * es / (p - es); }
  static double over_water(double t, double p) {
    return saturation(611.2 * std::exp(17.67 * (t - 273.15) / (t - 29.65)), p);
  }

  void transform(unsigned k) {
    double t = f[kTheta][k] * f[kExner][k];
    double& qv = f[kVapor][k];
    double& qc = f[kCloud][k];
    double& qi = f[kIce][k];
    double& qr = f[kRain][k];
    double& qs = f[kSnow][k];
    const double p = f[kPressure][k];
    const double qsw = over_water(t, p);
    const double qsi = saturation(611.2 * std::exp(21.8745584 * (t - 273.16) / (t - 7.66)), p);
    const double conversion = std::min(qc, 0.06 * std::max(0.0, qc - 5e-4));
    const double accretion = std::min(qc - conversion, 132 * qc * std::pow(qr, 0.875));
    const double evaporation =
        std::min({qr, 0.5 * std::max(0.0, qsw - qv),
                  0.03 * std::max(0.0, 1 - qv / qsw) * std::sqrt(f[kDensity][k] * qr)});
    const double melting = std::min(qs, 0.012 * std::max(0.0, t - 273.15) * std::sqrt(qs));
    const double snowing = std::min(qi, 0.06 * std::max(0.0, qi - 1e-4));
    const double left = qc - conversion - accretion;
    const double riming = t < 273.15 ? std::min(left, 60 * left * std::pow(qs, 0.8)) : 0;
    const double freezing = t < 233.15 ? left - riming : 0;
    const double deposition = t < 273.15 ? 0.1 * std::max(0.0, qv - qsi) : 0;
    qv += evaporation - deposition;
    qc = left - riming - freezing;
    qi += deposition + freezing - snowing;
    qr += conversion + accretion + melting - evaporation;
    qs += snowing + riming - melting;
    t += (2.5e6 * (deposition - evaporation) + 3.5e5 * (deposition + riming + freezing - melting)) /
         1004.5;
    const double most = over_water(t, p);
    const double slope = 2.5e6 * 2.5e6 * most / (1004.5 * 461.6 * t * t);
    const double condensed = std::max(-qc, (qv - most) / (1 + slope));
    qv -= condensed;
    qc += condensed;
    f[kTheta][k] = (t + 2.5e6 / 1004.5 * condensed) / f[kExner][k];
  }

  void step() {
    rain_now = fall(f[kRain], 14.16, 0.1364);
    snow_now = fall(f[kSnow], 2.5, 0.06);
    for (unsigned k = 0; k < kWpLevels; ++k) transform(k);
  }
};

std::vector<std::vector<float>> values_now() {
  std::vector<std::vector<float>> values;
  for (const Array<float>& field : wp().program.fields())
    values.emplace_back(field.values, field.values + field.num_elements);
  return values;
}

TEST(Weather, ComputesTheStepThatALoopOverLevelsInDoublesComputes) {
  const std::vector<std::vector<float>> now = values_now();
  const WpArguments& in = wp().program.arguments();
  for (unsigned y = 0; y < WeatherSizes().rows; ++y)
    for (unsigned x = 0; x < WeatherSizes().columns; ++x) {
      Column expected(wp().program.first_values(), x, y);
      expected.step();
      const Column computed(now, x, y);
      for (unsigned k = 0; k < kWpLevels; ++k) {
        ASSERT_NEAR(computed.f[kTheta][k], expected.f[kTheta][k], 0.02) << x << ", " << y;
        for (std::size_t kind = kVapor; kind <= kSnow; ++kind)
          ASSERT_NEAR(computed.f[kind][k], expected.f[kind][k], 5e-6)
              << x << ", " << y << ", level " << k << ", field " << kind;
      }
      const unsigned place = y * WeatherSizes().columns + x;
      ASSERT_NEAR(static_cast<double>(in.rain_now.values[place]), expected.rain_now, 2e-3);
      ASSERT_NEAR(static_cast<double>(in.snow_now.values[place]), expected.snow_now, 2e-3);
    }
}

TEST(Weather, NoWaterIsLostOrMade) {
  const std::vector<std::vector<float>> now = values_now();
  const WpArguments& in = wp().program.arguments();
  double fallen = 0;
  for (unsigned y = 0; y < WeatherSizes().rows; ++y)
    for (unsigned x = 0; x < WeatherSizes().columns; ++x) {
      const Column before(wp().program.first_values(), x, y);
      Column after(now, x, y);
      const unsigned place = y * WeatherSizes().columns + x;
      after.rain_now = static_cast<double>(in.rain_now.values[place]);
      after.snow_now = static_cast<double>(in.snow_now.values[place]);
      ASSERT_NEAR(after.water_kg(), before.water_kg(), 1e-4 * before.water_kg());
      fallen += after.rain_now + after.snow_now;
    }
  EXPECT_GT(fallen, 100);
}

TEST(Weather, EveryProcessHappensSomewhere) {
  const std::vector<std::vector<float>> now = values_now();
  for (std::size_t kind = kVapor; kind <= kSnow; ++kind) {
    const std::vector<float>& before = wp().program.first_values()[kind];
    std::size_t num_more = 0;
    std::size_t num_less = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (now[kind][i] > before[i]) ++num_more;
      if (now[kind][i] < before[i]) ++num_less;
    }
    EXPECT_GT(num_more, 500U) << "field " << kind;
    EXPECT_GT(num_less, 500U) << "field " << kind;
  }
}

TEST(Weather, IsAsLargeAsTheOriginal) {
  EXPECT_NEAR(wp().counted.upload_kib, 5100, 50);  // ispass2009
  EXPECT_NEAR(wp().counted.touched_kib, 5130, 10);
  EXPECT_EQ(wp().counted.pages, 3U);
  // 12.6 MB of local memory, of 4608 threads.
  EXPECT_NEAR(wp().program.program().launches[0].local_bytes_per_thread * 4608 / 1e6, 12.6, 1);
}

TEST(Weather, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(wp().counted.millions(), 215, 4);  // ISPASS'09, Table 1
}

}  // namespace
}  // namespace isthmus::workloads

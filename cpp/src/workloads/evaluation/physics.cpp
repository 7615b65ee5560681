#include "workloads/evaluation/physics.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint64_t kCpInstructions = 126'000'000;  // ISPASS'09, Table 1
constexpr float kSpacing = 0.1F;

}  // namespace

Cp::Cp(const CpSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_ctas =
      sizes.size / (kCpWidth * kCpPointsPerThread) * (sizes.size / kCpHeight);
  RandomNumbers random(seed);
  for (std::uint32_t i = 0; i < sizes.atoms; ++i) {
    const auto side = static_cast<float>(sizes.size);
    const float x = random.uniform() * kSpacing * side;
    const float y = random.uniform() * kSpacing * side;
    const float z = random.uniform() * kSpacing * side + kSpacing;  // never on a point
    atoms_.push_back({x, y, z * z, random.uniform() * 2 - 1});
  }
  arguments_.atoms = atoms_.data();
  arguments_.num_atoms = sizes.atoms;
  arguments_.potential = heap_.allocate<float>("potential", std::uint64_t{sizes.size} * sizes.size);
  arguments_.width = sizes.size;
  arguments_.spacing = kSpacing;
  program_.launches.push_back(launch("plane", num_ctas, kCpWidth * kCpHeight));
  program_.after = {download(arguments_.potential)};
  program_.thread_instructions = kCpInstructions;
  finish_program();
}

void Cp::reset() {
  std::fill_n(arguments_.potential.values, arguments_.potential.num_elements, 0.0F);
}

void Cp::run(std::uint32_t /*launch*/, Cta& cta) { cp_plane(cta, arguments_); }

KernelCall Cp::call(std::uint32_t /*launch*/) const {
  KernelCall call = kernel_call("cp_plane", arguments_);
  add_constant(call, arguments_, arguments_.atoms, atoms_.size());
  return call;
}

namespace {

constexpr std::uint64_t kLpsInstructions = 82'000'000;  // ISPASS'09, Table 1

}  // namespace

Lps::Lps(const LpsSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_ctas_x = (sizes.size + kLpsWidth - 1) / kLpsWidth;
  const std::uint32_t num_ctas_y = (sizes.size + kLpsHeight - 1) / kLpsHeight;
  const std::uint64_t num_points = std::uint64_t{sizes.size} * sizes.size * sizes.size;
  arguments_.before = heap_.allocate<float>("before", num_points);
  arguments_.after = heap_.allocate<float>("after", num_points);
  arguments_.size = sizes.size;
  arguments_.num_ctas_x = num_ctas_x;
  RandomNumbers random(seed);
  std::generate_n(arguments_.before.values, num_points, [&] { return random.uniform(); });
  trace::Launch& step = program_.launches.emplace_back(
      launch("step", num_ctas_x * num_ctas_y, kLpsWidth * kLpsHeight));
  step.before = {upload(arguments_.before)};
  program_.after = {download(arguments_.after)};
  program_.thread_instructions = kLpsInstructions;
  finish_program();
}

void Lps::reset() { std::fill_n(arguments_.after.values, arguments_.after.num_elements, 0.0F); }

void Lps::run(std::uint32_t /*launch*/, Cta& cta) { lps_step(cta, arguments_); }

KernelCall Lps::call(std::uint32_t /*launch*/) const { return kernel_call("lps_step", arguments_); }

namespace {

constexpr std::uint64_t kWpInstructions = 215'000'000;  // ISPASS'09, Table 1
constexpr float kStepSeconds = 60;
// Dry air: R / cp, gas constant in J/kg/K, and gravity in m/s2.
constexpr float kKappa = 0.2857F;
constexpr float kAirGas = 287.04F;
constexpr float kGravity = 9.81F;

}  // namespace

Weather::Weather(const WeatherSizes& sizes, std::uint64_t seed) : sizes_(sizes) {
  const std::uint32_t num_ctas = sizes.columns / kWpWidth * (sizes.rows / kWpWidth);
  allocate();
  for (std::uint32_t row = 0; row < sizes.rows; ++row)
    for (std::uint32_t column = 0; column < sizes.columns; ++column) make_column(column, row, seed);
  trace::Launch& step =
      program_.launches.emplace_back(launch("step", num_ctas, kWpWidth * kWpWidth));
  step.local_bytes_per_thread = kWpLocalWords * sizeof(float);
  for (const Array<float>& field : fields()) {
    first_values_.emplace_back(field.values, field.values + field.num_elements);
    step.before.push_back(upload(field));
  }
  for (const Array<float>& water : arguments_.water) program_.after.push_back(download(water));
  program_.after.push_back(download(arguments_.theta));
  for (std::uint32_t i = 0; i < kNumSurfaceFields; ++i)
    program_.after.push_back(download(fields()[kNumFields + i]));
  program_.thread_instructions = kWpInstructions;
  finish_program();
}

void Weather::allocate() {
  const std::uint64_t num_columns = std::uint64_t{sizes_.columns} * sizes_.rows;
  const auto field = [this, num_columns](const std::string& name) {
    return heap_.allocate<float>(name, num_columns * kWpLevels);
  };
  const auto surface = [this, num_columns](const std::string& name) {
    return heap_.allocate<float>(name, num_columns);
  };
  arguments_.theta = field("theta");
  arguments_.exner = field("exner");
  const char* const names[] = {"vapor", "cloud", "ice", "rain", "snow"};
  for (std::size_t kind = 0; kind < 5; ++kind) arguments_.water[kind] = field(names[kind]);
  arguments_.density = field("density");
  arguments_.pressure = field("pressure");
  arguments_.depth = field("depth");
  arguments_.rain = surface("rain fallen");
  arguments_.rain_now = surface("rain now");
  arguments_.snow = surface("snow fallen");
  arguments_.snow_now = surface("snow now");
  arguments_.snow_share = surface("snow share");
  arguments_.num_columns = sizes_.columns;
  arguments_.step_s = kStepSeconds;
}

std::vector<Array<float>> Weather::fields() const {
  const WpArguments& in = arguments_;
  return {in.theta,    in.exner,    in.water[0], in.water[1], in.water[2],
          in.water[3], in.water[4], in.density,  in.pressure, in.depth,
          in.rain,     in.rain_now, in.snow,     in.snow_now, in.snow_share};
}

void Weather::make_column(std::uint32_t column, std::uint32_t row, std::uint64_t seed) {
  const std::uint64_t num_columns = std::uint64_t{sizes_.columns} * sizes_.rows;
  RandomNumbers random(seed * num_columns + std::uint64_t{row} * sizes_.columns + column);
  const bool is_cloudy = random.below(2) == 0;
  const float ground = 280 + 15 * random.uniform();
  float height = 0;
  float pressure = 1e5F;
  for (std::uint32_t k = 0; k < kWpLevels; ++k) {
    const std::uint64_t place = (std::uint64_t{row} * kWpLevels + k) * sizes_.columns + column;
    const float depth = 200 + 20 * static_cast<float>(k);
    const float t = std::max(210.0F, ground - 0.0065F * height) + random.uniform();
    pressure *= std::exp(-kGravity * depth / (kAirGas * t));
    height += depth;
    const float exner = std::pow(pressure / 1e5F, kKappa);
    const float humidity = is_cloudy ? 0.9F + 0.2F * random.uniform() : 0.5F * random.uniform();
    arguments_.exner.values[place] = exner;
    arguments_.theta.values[place] = t / exner;
    arguments_.water[0].values[place] = humidity * wp_over_water(t, pressure);
    for (std::size_t kind = 1; kind < 5; ++kind) {
      const bool is_there = is_cloudy && random.below(3) != 0 && (kind % 2 == 0) == (t < 268);
      arguments_.water[kind].values[place] = is_there ? 2e-3F * random.uniform() : 0.0F;
    }
    arguments_.density.values[place] = pressure / (kAirGas * t);
    arguments_.pressure.values[place] = pressure;
    arguments_.depth.values[place] = depth;
  }
}

void Weather::reset() {
  const std::vector<Array<float>> all = fields();
  for (std::size_t i = 0; i < all.size(); ++i)
    std::copy(first_values_[i].begin(), first_values_[i].end(), all[i].values);
}

void Weather::run(std::uint32_t /*launch*/, Cta& cta) { wp_step(cta, arguments_); }

KernelCall Weather::call(std::uint32_t /*launch*/) const {
  return kernel_call("wp_step", arguments_);
}

}  // namespace isthmus::workloads

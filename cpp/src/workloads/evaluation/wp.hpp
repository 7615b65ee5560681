// The water of a weather model.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/evaluation/wp_kernel.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct WeatherSizes {
  std::uint32_t columns = 72;  ///< of air
  std::uint32_t rows = 64;     ///< of columns
};

/// 72 x 64 columns of 28 levels, one step. The air is made up, with clouds in half of its columns,
/// and the physics is simpler than WSM5's.
class Weather : public Workload {
public:
  using Sizes = WeatherSizes;
  static constexpr SizeOf<WeatherSizes> kSizes[] = {{{.name = "columns",
                                                      .meaning = "columns of air in a row",
                                                      .least = 8,
                                                      .most = 1024,
                                                      .multiple = kWpWidth},
                                                     &WeatherSizes::columns},
                                                    {{.name = "rows",
                                                      .meaning = "rows of columns",
                                                      .least = 8,
                                                      .most = 1024,
                                                      .multiple = kWpWidth},
                                                     &WeatherSizes::rows}};
  static constexpr std::uint32_t kNumFields = 10;  ///< with levels
  static constexpr std::uint32_t kNumSurfaceFields = 5;

  Weather(const WeatherSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const WeatherSizes& sizes() const { return sizes_; }
  const WpArguments& arguments() const { return arguments_; }
  /// All fields, the surface's last.
  std::vector<Array<float>> fields() const;
  /// The values of fields() before the step.
  const std::vector<std::vector<float>>& first_values() const { return first_values_; }

private:
  void allocate();
  void make_column(std::uint32_t column, std::uint32_t row, std::uint64_t seed);

  WeatherSizes sizes_;
  WpArguments arguments_{};
  std::vector<std::vector<float>> first_values_;
};

}  // namespace isthmus::workloads

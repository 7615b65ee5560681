// Physics on grids: the Coulomb potential of atoms, Laplace's equation, and the water of a weather
// model.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/evaluation/cp_kernel.hpp"
#include "workloads/evaluation/lps_kernel.hpp"
#include "workloads/evaluation/wp_kernel.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

struct CpSizes {
  std::uint32_t size = 256;  ///< points along a side
  std::uint32_t atoms = 200;
};

/// 256 x 256 points, 200 atoms. The atoms are in constant memory, so nothing is copied to the heap;
/// the GPU clears the grid.
class Cp : public Workload {
public:
  using Sizes = CpSizes;
  static constexpr SizeOf<CpSizes> kSizes[] = {
      {{.name = "size",
        .meaning = "points along a side of the grid",
        .least = 32,
        .most = 1U << 14U,
        .multiple = kCpWidth * kCpPointsPerThread},
       &CpSizes::size},
      {{.name = "atoms", .meaning = "atoms, in constant memory", .most = 4000}, &CpSizes::atoms}};

  Cp(const CpSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const CpSizes& sizes() const { return sizes_; }
  const CpArguments& arguments() const { return arguments_; }

private:
  CpSizes sizes_;
  std::vector<CpAtom> atoms_;
  CpArguments arguments_{};
};

struct LpsSizes {
  std::uint32_t size = 100;  ///< points along a side
};

/// 100 x 100 x 100 points, one step. Only the points before the step are copied to the GPU; the GPU
/// writes the points after it for the first time.
class Lps : public Workload {
public:
  using Sizes = LpsSizes;
  static constexpr SizeOf<LpsSizes> kSizes[] = {
      {{.name = "size", .meaning = "points along a side of the cube", .least = 2, .most = 768},
       &LpsSizes::size}};

  Lps(const LpsSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;
  KernelCall call(std::uint32_t launch) const override;
  Values results() const override { return Values::floats; }

  const LpsSizes& sizes() const { return sizes_; }
  const LpsArguments& arguments() const { return arguments_; }

private:
  LpsSizes sizes_;
  LpsArguments arguments_{};
};

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

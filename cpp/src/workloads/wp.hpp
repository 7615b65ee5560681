// The water of a weather model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/workload.hpp"
#include "workloads/wp_kernel.hpp"

namespace isthmus::workloads {

/// 72 x 64 columns of 28 levels, one step. The air is made up, with clouds in half of its columns,
/// and the physics is simpler than WSM5's.
class Weather : public Workload {
public:
  static constexpr std::uint32_t kColumns = 72;
  static constexpr std::uint32_t kRows = 64;
  static constexpr std::uint32_t kNumFields = 10;  ///< with levels
  static constexpr std::uint32_t kNumSurfaceFields = 5;

  explicit Weather(std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const WpArguments& arguments() const { return arguments_; }
  /// All fields, the surface's last.
  std::vector<Array<float>> fields() const;
  /// The values of fields() before the step.
  const std::vector<std::vector<float>>& first_values() const { return first_values_; }

private:
  void allocate();
  void make_column(std::uint32_t column, std::uint32_t row, std::uint64_t seed);

  WpArguments arguments_{};
  std::vector<std::vector<float>> first_values_;
};

std::unique_ptr<Workload> make_wp(std::uint64_t seed);

}  // namespace isthmus::workloads

// What the small-transfer experiments share: one sample is one run, which yields several
// quantities.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/kernels.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Throws   Unavailable if `kernels` is null.
inline const Kernels& light_kernels(const Kernels* kernels) {
  if (kernels == nullptr)
    throw Unavailable("light kernel", "there is no NVRTC to compile it", "NVRTC");
  return *kernels;
}

/// Collects the named values of each run, until there are enough runs.
class Runs {
public:
  explicit Runs(const Stopping& stopping) : sampling_(stopping) {}

  bool wants_more() { return sampling_.wants_more(); }
  /// first     the value that the stopping rule looks at; the others are taken with it
  void add(std::initializer_list<std::pair<const char*, double>> values) {
    sampling_.add(values.begin()->second);
    if (columns_.empty())
      for (const auto& [metric, value] : values) columns_.push_back({metric, {}, 1, {}});
    std::size_t column = 0;
    for (const auto& [metric, value] : values) columns_[column++].seconds.push_back(value);
  }
  std::vector<Samples> finish(std::size_t copies_per_sample) && {
    const StoppedBy stopped_by = std::move(sampling_).finish("", copies_per_sample).stopped_by;
    for (Samples& column : columns_) {
      column.copies_per_sample = copies_per_sample;
      column.stopped_by = stopped_by;
    }
    return std::move(columns_);
  }

private:
  Sampling sampling_;
  std::vector<Samples> columns_;
};

}  // namespace isthmus::measure

#include "measure/loops/sampling.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

double quantile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

}  // namespace

Sampling::Sampling(const Stopping& rule) : rule_(rule), next_look_(rule.min_samples) {
  if (rule.min_samples == 0 || rule.max_samples < rule.min_samples) {
    throw UsageError("stopping rule: needs 1 <= min_samples <= max_samples, got " +
                     std::to_string(rule.min_samples) + " and " + std::to_string(rule.max_samples));
  }
  if (!(rule.max_seconds >= 0) || !(rule.relative_iqr >= 0)) {
    throw UsageError("stopping rule: max_seconds and relative_iqr must be at least 0");
  }
  seconds_.reserve(rule.max_samples);
}

bool Sampling::wants_more() {
  const std::size_t taken = seconds_.size();
  if (taken < rule_.min_samples) return true;
  if (taken >= rule_.max_samples) return false;
  if (seconds_since(start_) >= rule_.max_seconds) {
    stopped_by_ = StoppedBy::time;
    return false;
  }
  if (taken < next_look_) return true;
  next_look_ = taken + taken / 2 + 1;
  if (!quiet()) return true;
  stopped_by_ = StoppedBy::noise;
  return false;
}

bool Sampling::quiet() const {
  // Quartiles of fewer than five samples say nothing about noise.
  if (seconds_.size() < 5) return false;
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  const double spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
  return spread <= rule_.relative_iqr * quantile(sorted, 0.5);
}

Samples Sampling::finish(std::string metric, std::size_t copies_per_sample) && {
  return {std::move(metric), std::move(seconds_), copies_per_sample, stopped_by_};
}

}  // namespace isthmus::measure

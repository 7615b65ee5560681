// Times of tasks that take turns: a drift of the machine affects all of them alike.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

using Task = std::function<void()>;

inline double seconds_of(const Task& task, std::size_t num_repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < num_repeats; ++i) task();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(num_repeats);
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// How often each task runs: a sample is long enough for the clock, and a point short enough to
/// measure all points in a minute.
struct Rounds {
  std::size_t num_rounds = 31;
  double sample_seconds = 100e-6;
  double max_seconds = 0.6;  ///< for one point; at least five rounds run
};

/// Seconds of one run of each task: the medians of rounds in which each takes its turn, and each
/// round begins with another task. The first run of each is its warm-up.
inline std::vector<double> medians(const std::vector<Task>& tasks, const Rounds& rounds = {}) {
  std::vector<double> first;
  for (const Task& task : tasks) {
    task();
    first.push_back(seconds_of(task, 1));
  }
  double round_seconds = 0;
  std::vector<std::size_t> repeats;
  for (const double seconds : first) {
    const double wanted = rounds.sample_seconds / std::max(seconds, 1e-9);
    repeats.push_back(std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));
    round_seconds += seconds * static_cast<double>(repeats.back());
  }
  const auto affordable = static_cast<std::size_t>(rounds.max_seconds / round_seconds);
  const std::size_t num_rounds =
      std::clamp(affordable, std::min<std::size_t>(5, rounds.num_rounds), rounds.num_rounds);
  std::vector<std::vector<double>> samples(tasks.size());
  for (std::size_t round = 0; round < num_rounds; ++round) {
    for (std::size_t turn = 0; turn < tasks.size(); ++turn) {
      const std::size_t i = (round + turn) % tasks.size();
      samples[i].push_back(seconds_of(tasks[i], repeats[i]));
    }
  }
  std::vector<double> found;
  for (std::vector<double>& seconds : samples) found.push_back(median(std::move(seconds)));
  return found;
}

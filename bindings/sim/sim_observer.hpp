// What a run reports to Python while it runs.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/observer.hpp"

/// What happens in a run, for pictures and for statistics by kernel and by part of memory.
class SimTimeline {
public:
  enum class Kind : std::uint8_t { launch, cta, migration, to_gpu, to_cpu, eviction };
  /// The kind, its subject and amount (see SimObserver), then start and end.
  struct Row {
    Kind kind;
    std::uint64_t where;
    std::uint64_t amount;
    isthmus::sim::Span span;
  };

  /// A time, then what was counted up to it: Stalls, Traffic, migrations, evictions, line requests.
  using Sample = std::array<std::uint64_t, std::tuple_size_v<isthmus::sim::Counts> + 1>;
  /// By isthmus::sim::Use.
  using Uses = std::array<std::uint64_t, isthmus::sim::kNumUses>;

  /// begins      where parts of memory begin, ascending; what lies before them is one, too
  SimTimeline(std::size_t max_rows, std::vector<std::uint64_t> begins)
      : max_rows_(max_rows), begins_(std::move(begins)), uses_(begins_.size() + 1) {}

  void add(const Row& row) {
    if (rows_.size() < max_rows_) {
      rows_.push_back(row);
    } else {
      ++num_dropped_;
    }
  }
  void add(isthmus::sim::Use use, std::uint64_t address, std::uint64_t amount);
  /// Keeps up to a few hundred: every second one is dropped then.
  void add(const Sample& sample);
  /// A launch's name, and what was counted for it. Launches may end in any order.
  void add(std::uint32_t launch, const std::string& kernel, const isthmus::sim::Counts& counts) {
    launches_.resize(std::max<std::size_t>(launches_.size(), launch + 1));
    kernels_.resize(launches_.size());
    launches_[launch] = counts;
    kernels_[launch] = kernel;
  }

  const std::vector<Uses>& uses() const { return uses_; }
  const std::vector<Sample>& samples() const { return samples_; }
  const std::vector<isthmus::sim::Counts>& launches() const { return launches_; }
  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<std::string>& kernels() const { return kernels_; }
  std::uint64_t num_dropped() const { return num_dropped_; }

private:
  std::size_t max_rows_;
  std::vector<std::uint64_t> begins_;
  std::vector<Uses> uses_;
  std::vector<Sample> samples_;
  std::vector<isthmus::sim::Counts> launches_;
  std::uint64_t samples_between_ = 1;
  std::uint64_t num_samples_ = 0;
  std::vector<Row> rows_;
  std::vector<std::string> kernels_;
  std::uint64_t num_dropped_ = 0;
};
constexpr auto words_of(SimTimeline::Kind) {
  return std::array{"launch", "cta", "migration", "to_gpu", "to_cpu", "eviction"};
}

/// Handles signals, reports the progress, and fills a timeline. Lives while the GIL is held; its
/// functions run without it.
class SimObserver : public isthmus::sim::Observer {
public:
  using Span = isthmus::sim::Span;

  /// poll        callable, or None
  /// timeline    may be null
  SimObserver(nanobind::object poll, SimTimeline* timeline);
  ~SimObserver() override = default;

  void poll(isthmus::sim::Picoseconds now_ps) override;
  void launched(std::uint32_t launch, const isthmus::trace::Launch& kernel, Span span,
                const isthmus::sim::Counts& counts) override;
  void cta_done(std::uint32_t core, std::uint32_t cta, Span span) override;
  void migrated(std::uint64_t address, std::uint64_t size_bytes, Span span) override;
  void link_busy(bool to_gpu, std::uint64_t size_bytes, Span span) override;
  void counted(isthmus::sim::Picoseconds now_ps, const isthmus::sim::Result& so_far) override;
  void used(isthmus::sim::Use use, std::uint64_t address, std::uint64_t amount) override {
    if (timeline_ != nullptr) timeline_->add(use, address, amount);
  }
  void evicted(std::uint64_t address, std::uint64_t size_bytes, Span span) override;

private:
  void add(SimTimeline::Kind kind, std::uint64_t where, std::uint64_t amount, Span span);

  nanobind::object poll_;
  SimTimeline* timeline_;
  std::chrono::steady_clock::time_point next_;
};

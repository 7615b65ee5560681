// Whose the counts are, where kernels run at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/result.hpp"

namespace isthmus::sim {

/// Divides what a run counts by streams: what is counted is the stream's that was charged last.
class Ledger {
public:
  /// result      outlives this
  Ledger(const Result& result, std::size_t num_streams) : result_(result), owed_(num_streams) {}

  void charge(std::uint32_t stream) {
    if (stream != charged_) [[unlikely]]
      change(stream);
  }
  std::uint32_t charged() const { return charged_; }
  /// What was counted for a stream since this was last called.
  Counts take(std::uint32_t stream) {
    change(charged_);
    return std::exchange(owed_[stream], {});
  }

private:
  // Never a part of the functions that run for each request.
  [[gnu::noinline, gnu::cold]] void change(std::uint32_t stream) {
    const Counts now = counts_of(result_);
    for (std::size_t i = 0; i < now.size(); ++i) owed_[charged_][i] += now[i] - before_[i];
    before_ = now;
    charged_ = stream;
  }

  const Result& result_;
  std::vector<Counts> owed_;
  Counts before_{};
  std::uint32_t charged_ = 0;
};

}  // namespace isthmus::sim

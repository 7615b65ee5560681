// How often each path was used, and how well its time was predicted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <isthmus/transfer.hpp>

#include "transfer/profile/profile.hpp"

namespace isthmus::transfer {

/// Counters of all paths. May be used from any thread.
class CopyStatistics {
public:
  /// Counts copies whose time is unknown.
  ///
  /// size_bytes  of all of them
  void count(CopyPath path, std::size_t size_bytes, std::uint64_t num_copies = 1) noexcept;
  /// Takes such a count back: the copies have failed.
  void count_back(CopyPath path, std::size_t size_bytes, std::uint64_t num_copies) noexcept;
  /// Adds the time of `num_copies` copies like this one. Reading the clock costs as much as a small
  /// copy, so only some of them are timed, and stand for all.
  void time(CopyPath path, double seconds, double predicted_seconds, double num_copies) noexcept;
  std::vector<PathUse> uses() const;

private:
  struct alignas(32) Counters {  // so that each lies in one line
    std::atomic<std::uint64_t> num_copies{0};
    std::atomic<std::uint64_t> num_bytes{0};
    std::atomic<std::uint64_t> nanoseconds{0};
    std::atomic<std::uint64_t> predicted_nanoseconds{0};
  };
  Counters& of(CopyPath path) noexcept { return counters_[static_cast<std::size_t>(path)]; }
  std::array<Counters, kCountedPaths.size()> counters_;
};

}  // namespace isthmus::transfer

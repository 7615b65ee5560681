// How often each path was used, and how well its time was predicted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <isthmus/transfer.hpp>

namespace isthmus::transfer {

inline constexpr std::size_t kNumPaths = 5;
inline constexpr std::array<CopyPath, kNumPaths> kAllPaths{
    CopyPath::window, CopyPath::window_threads, CopyPath::driver, CopyPath::staged,
    CopyPath::registered};

/// The paths that are counted: also the one that only many copies take.
inline constexpr std::size_t kNumCountedPaths = kNumPaths + 1;
inline constexpr std::array<CopyPath, kNumCountedPaths> kCountedPaths{
    CopyPath::window, CopyPath::window_threads, CopyPath::driver,
    CopyPath::staged, CopyPath::registered,     CopyPath::kernel};

/// True for the paths through a mapping.
constexpr bool is_window(CopyPath path) noexcept {
  return path == CopyPath::window || path == CopyPath::window_threads;
}

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
  std::array<Counters, kNumCountedPaths> counters_;
};

}  // namespace isthmus::transfer

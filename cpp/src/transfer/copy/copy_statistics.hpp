// How often each path was used, and how well its time was predicted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
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
  void count(CopyPath path, std::size_t size_bytes, std::uint64_t num_copies = 1) noexcept {
    if (num_copies == 1 && size_bytes <= kSmallBytes) return count_small(path, size_bytes);
    count_other(path, size_bytes, num_copies);
  }
  /// Takes such a count back: the copies have failed.
  void count_back(CopyPath path, std::size_t size_bytes, std::uint64_t num_copies) noexcept;
  /// Adds the time of `num_copies` copies like this one. Reading the clock costs as much as a small
  /// copy, so only some of them are timed, and stand for all.
  void time(CopyPath path, double seconds, double predicted_seconds, double num_copies) noexcept;
  std::vector<PathUse> uses() const;

private:
  // An atomic addition takes 8 ns, and a small copy 200: so small copies make one. The upper bits of
  // `small` count copies, the lower ones bytes. Whoever comes to kMostSmall moves them to the other
  // counters. The bits suffice for sixteen times as many, so other threads may go on counting.
  static constexpr std::size_t kSmallBytes = std::size_t{1} << 16U;
  static constexpr unsigned kBytesBits = 40;
  static constexpr std::uint64_t kOneSmall = std::uint64_t{1} << kBytesBits;
  static constexpr std::uint64_t kMostSmall = (std::uint64_t{1} << 20U) * kOneSmall;

  struct Counters {
    std::atomic<std::uint64_t> small{0};
    std::atomic<std::uint64_t> num_copies{0};
    std::atomic<std::uint64_t> num_bytes{0};
    std::atomic<std::uint64_t> nanoseconds{0};
    std::atomic<std::uint64_t> predicted_nanoseconds{0};
  };
  Counters& of(CopyPath path) noexcept { return counters_[static_cast<std::size_t>(path)]; }
  void count_small(CopyPath path, std::size_t size_bytes) noexcept {
    std::atomic<std::uint64_t>& small = of(path).small;
    const std::uint64_t before = small.fetch_add(kOneSmall + size_bytes, std::memory_order_relaxed);
    if (before >= kMostSmall) [[unlikely]]
      move_small(path);
  }
  void count_other(CopyPath path, std::size_t size_bytes, std::uint64_t num_copies) noexcept;
  void move_small(CopyPath path) noexcept;
  mutable std::mutex moving_;  ///< held by whoever moves or reads
  std::array<Counters, kNumCountedPaths> counters_;
};

}  // namespace isthmus::transfer

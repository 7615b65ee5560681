#include "transfer/request/copy_statistics.hpp"

namespace isthmus::transfer {
namespace {

/// Of a time that isn't negative.
std::uint64_t nanoseconds(double seconds) {
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  return static_cast<std::uint64_t>(seconds * 1e9 + 0.5);
}

}  // namespace

void CopyStatistics::count(CopyPath path, std::size_t size_bytes,
                           std::uint64_t num_copies) noexcept {
  Counters& counters = of(path);
  counters.num_copies.fetch_add(num_copies, std::memory_order_relaxed);
  counters.num_bytes.fetch_add(size_bytes, std::memory_order_relaxed);
}

void CopyStatistics::count_back(CopyPath path, std::size_t size_bytes,
                                std::uint64_t num_copies) noexcept {
  Counters& counters = of(path);
  counters.num_copies.fetch_sub(num_copies, std::memory_order_relaxed);
  counters.num_bytes.fetch_sub(size_bytes, std::memory_order_relaxed);
}

void CopyStatistics::time(CopyPath path, double seconds, double predicted_seconds,
                          double num_copies) noexcept {
  Counters& counters = of(path);
  counters.nanoseconds.fetch_add(nanoseconds(seconds * num_copies), std::memory_order_relaxed);
  counters.predicted_nanoseconds.fetch_add(nanoseconds(predicted_seconds * num_copies),
                                           std::memory_order_relaxed);
}

std::vector<PathUse> CopyStatistics::uses() const {
  std::vector<PathUse> uses;
  for (const CopyPath path : kCountedPaths) {
    const Counters& counters = counters_[static_cast<std::size_t>(path)];
    uses.push_back({path, counters.num_copies.load(), counters.num_bytes.load(),
                    static_cast<double>(counters.nanoseconds.load()) * 1e-9,
                    static_cast<double>(counters.predicted_nanoseconds.load()) * 1e-9});
  }
  return uses;
}

}  // namespace isthmus::transfer

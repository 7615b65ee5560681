// How many threads a staging ring uses for long copies.
#pragma once

namespace isthmus::transfer {

/// Including the caller's; 0: not measured, so as many as pay on most machines.
struct RingThreads {
  int upload = 0;
  int download = 0;

  /// More don't make an H100's copies faster. Source: benchmarks/transfer/h100/ring_stores.json.
  static constexpr int kMaxUseful = 10;

  bool operator==(const RingThreads&) const = default;
};

}  // namespace isthmus::transfer

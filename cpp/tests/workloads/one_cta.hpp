// Runs a kernel's body in one CTA, without a workload.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "workloads/recording/warp.hpp"

namespace isthmus::workloads::testing {

/// The logs of a CTA of `num_threads` threads that ran body(cta).
template <class Body>
std::vector<WarpLog> run_cta(std::uint32_t num_threads, Body body) {
  std::vector<WarpLog> logs((num_threads + kNumLanes - 1) / kNumLanes);
  Cta cta(0, num_threads, logs);
  body(cta);
  return logs;
}

/// The log of one warp of 32 threads.
template <class Body>
WarpLog run_warp(Body body) {
  return run_cta(kNumLanes, [&](Cta& cta) { cta.each_warp(body); })[0];
}

}  // namespace isthmus::workloads::testing

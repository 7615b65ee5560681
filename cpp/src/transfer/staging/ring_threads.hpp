// How many threads a staging ring's long copies take.
#pragma once

namespace isthmus::transfer {

/// The caller's included; 0: not measured, so as many as pay on most machines.
struct RingThreads {
  int upload = 0;
  int download = 0;

  bool operator==(const RingThreads&) const = default;
};

}  // namespace isthmus::transfer

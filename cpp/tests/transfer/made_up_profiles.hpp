// Profiles with costs that a test makes up.
#pragma once

#include <utility>
#include <vector>

#include "transfer/profile/profile.hpp"

namespace isthmus::transfer {

inline constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

/// What a path costs, and what it costs in addition after a pause.
struct PausingCosts {
  CopyPath path;
  double seconds;
  double pause_seconds;
};

/// The same costs for each size, direction and kind of memory.
inline Profile profile_with_pauses(const std::vector<PausingCosts>& costs) {
  std::vector<Profile::Entry> entries;
  for (const auto& [path, seconds, pause_seconds] : costs)
    for (const Direction direction : kDirections)
      for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned})
        entries.push_back({path, direction, kind, CostCurve({{1, seconds}}), pause_seconds});
  return {std::move(entries), true, "made up"};
}

}  // namespace isthmus::transfer

// How a copy will be made.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "transfer/plan/device_paths.hpp"
#include "transfer/request/link_piece.hpp"
#include "transfer/request/task.hpp"

namespace isthmus::transfer {

/// A copy and its chosen path. It has value semantics: it can be kept, and carried by another
/// thread.
struct Plan {
  /// No plan.
  Plan() = default;
  Plan(const CopyEnds& the_ends, const Crossing& the_crossing, DevicePaths* the_device,
       CopyPath the_path, std::shared_ptr<CachedWindow> the_window = nullptr)
      : ends(the_ends),
        crossing(the_crossing),
        device(the_device),
        path(the_path),
        window(std::move(the_window)) {}

  explicit operator bool() const noexcept { return ends.size_bytes != 0; }

  CopyEnds ends;
  Crossing crossing;
  const FileSource* file = nullptr;  ///< instead of a source in memory
  DevicePaths* device = nullptr;     ///< null: both ends are host memory
  CopyPath path = CopyPath::driver;
  bool by_name = false;   ///< no other path may stand in
  bool recorded = false;  ///< in the graph of the stream's capture
  /// For the window paths: null until Chooser::ready() has found or opened one.
  std::shared_ptr<CachedWindow> window;
  bool opens_window = false;    ///< `window` was opened for this copy
  std::uint64_t pinned_id = 0;  ///< of the host's buffer, if it is pinned
  /// The profile that makes this the cheapest path; null: chosen for another reason.
  const Profile* profile = nullptr;
  double predicted_seconds = kNotPredicted;
  /// Of CopyPath::kernel or staged: all copies that are made together, for which `ends` stand with
  /// their total size. A second shared_ptr would cost each small copy some nanoseconds, so `window`,
  /// which points to no window then, keeps them.
  const std::vector<LinkPiece>* pieces = nullptr;

  static constexpr double kNotPredicted = -1;

  std::uint64_t num_copies() const noexcept { return pieces == nullptr ? 1 : pieces->size(); }
  bool uploads() const noexcept { return crossing.direction == Direction::host_to_device; }
  std::uintptr_t device_address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(uploads() ? ends.target : ends.source);
  }
  const void* host_end() const noexcept { return uploads() ? ends.source : ends.target; }
};

}  // namespace isthmus::transfer

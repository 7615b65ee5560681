// The paths to one device, and what each costs.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/context.hpp"
#include "device/stream.hpp"
#include "transfer/movers/block_mover.hpp"
#include "transfer/movers/piece_mover.hpp"
#include "transfer/plan/bounce_memory.hpp"
#include "transfer/plan/window_cache.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/request/copy_statistics.hpp"
#include "transfer/request/task.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace isthmus::transfer {

/// A path and its predicted seconds.
struct Choice {
  CopyPath path = CopyPath::driver;
  double seconds = 0;
};

/// The paths to one device. May be used from any thread.
class DevicePaths {
public:
  DevicePaths(const Driver& driver, int ordinal, const WindowCache& windows,
              const RingSettings& ring = {});

  const Context& context() const noexcept { return context_; }
  StagingRing& ring() noexcept { return ring_; }
  PieceMover& mover() noexcept { return mover_; }
  BlockMover& block_mover() noexcept { return block_mover_; }
  BounceMemory& bounce() noexcept { return bounce_; }
  /// A stream for copies by one thread that have nothing to wait for. Created on first use.
  CUstream background_stream();
  double window_opening_seconds() const { return profile()->window_opening_seconds(); }
  /// Uses this profile from now on to plan copies, and its thread counts to stage them.
  void use(const std::shared_ptr<const Profile>& profile);
  /// Valid for the life of this object, even if another profile is used meanwhile.
  const Profile* profile() const noexcept { return profile_.load(std::memory_order_acquire); }

  /// The path of a copy: the driver's, unless another one is clearly cheaper: margin_of() times. Of
  /// those the cheapest; several threads must be clearly cheaper than one, too. A window of one thread
  /// is compared back to back, one of several in the copy's rhythm, and staging in both.
  ///
  /// without_windows  only of paths that need none
  Choice best(const Crossing& crossing, bool without_windows) const;
  /// Every path with reasons, and what pauses cost: those that are clearly cheaper than the driver's
  /// copy, the driver's copy, other usable ones, and the rest.
  std::vector<PathCost> costs(const Crossing& crossing) const;
  /// What the profile says of one path; 0 if it has no curve.
  double seconds(CopyPath path, const Crossing& crossing) const noexcept;
  /// Why a path can't be taken; empty if it can.
  std::string obstacle(CopyPath path, const Crossing& crossing) const;

  /// Sizes up to which a window is the cheapest path for every kind of host memory: by one thread,
  /// and above that size by several.
  std::size_t window_until_bytes(Direction direction) const noexcept {
    return until_[static_cast<int>(direction)].window_bytes.load(std::memory_order_relaxed);
  }
  std::size_t window_threads_until_bytes(Direction direction) const noexcept {
    return until_[static_cast<int>(direction)].threads_bytes.load(std::memory_order_relaxed);
  }
  /// The same, after a pause too.
  std::size_t window_always_until_bytes(Direction direction) const noexcept {
    return until_[static_cast<int>(direction)].always_bytes.load(std::memory_order_relaxed);
  }
  /// Of window_threads_until_bytes(), the sizes up to which, after a pause, one thread is the best
  /// path for one kind of host memory at least.
  std::size_t window_alone_until_bytes(Direction direction) const noexcept {
    return until_[static_cast<int>(direction)].alone_bytes.load(std::memory_order_relaxed);
  }

  /// Sizes up to which a copy through a window takes less time than the call that would begin it.
  std::size_t window_at_once_bytes(Direction direction) const noexcept {
    return at_once_bytes_[static_cast<int>(direction)].load(std::memory_order_relaxed);
  }

  /// Runs a copy by the ring.
  ///
  /// Returns     false if there is no memory to pin for the ring. Then nothing has been copied, and
  ///             the ring isn't chosen or tried again until trim(); the driver's copy needs no
  ///             memory.
  template <typename Copy>
  bool try_ring(Copy copy) {
    if (ring_given_up_.load(std::memory_order_relaxed)) return false;
    try {
      copy();
      return true;
    } catch (const Unavailable& absent) {
      give_up_ring(absent.what());
      return false;
    }
  }
  void trim();

private:
  struct Until {
    std::atomic<std::size_t> window_bytes{0};
    std::atomic<std::size_t> threads_bytes{0};
    std::atomic<std::size_t> always_bytes{0};
    std::atomic<std::size_t> alone_bytes{0};
  };
  enum class Fit {
    yes,
    no_window,
    much_cpu,
    too_long,
    pinned_already,
    one_thread,
    not_measured,
    given_up,
    by_name_only
  };
  Fit fit(CopyPath path, const Crossing& crossing, const Profile& profile) const;
  std::string text_of(Fit fit) const;
  void find_window_limits(Direction direction);
  /// Of both kinds of host memory: whether a window is the cheapest path, and one thread's is.
  struct BestWindows {
    bool for_both = false;
    bool one_thread_for_both = false;
    bool one_thread_for_one = false;
  };
  BestWindows best_windows(Direction direction, std::size_t size_bytes, bool after_pause) const;
  static bool is_clearly_cheaper(const Profile& profile, CopyPath path, const Crossing& crossing);
  void give_up_ring(const std::string& why);

  Context context_;
  const WindowCache& windows_;
  StagingRing ring_;
  PieceMover mover_;
  BlockMover block_mover_;
  BounceMemory bounce_;
  std::optional<Stream> background_stream_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Profile>> profiles_;  ///< all that were used
  std::atomic<const Profile*> profile_{nullptr};
  std::array<Until, 2> until_;
  std::atomic<bool> ring_given_up_{false};
  std::string why_ring_given_up_;
  std::array<std::atomic<std::size_t>, 2> at_once_bytes_{};
};

}  // namespace isthmus::transfer

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
#include "transfer/carriers/window_cache.hpp"
#include "transfer/copy/bounce_memory.hpp"
#include "transfer/copy/copy_statistics.hpp"
#include "transfer/copy/task.hpp"
#include "transfer/many/piece_mover.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace isthmus::transfer {

/// A path and its predicted seconds.
struct Choice {
  CopyPath path = CopyPath::driver;
  double seconds = 0;
};

/// What the profile says of a copy by one path.
struct Expectation {
  CopyPath path = CopyPath::driver;
  Crossing crossing;
  double back_to_back_seconds = 0;  ///< without a pause; 0: unknown
  double pause_seconds = 0;         ///< what a pause adds

  /// Whatever copies took.
  double seconds() const noexcept {
    return back_to_back_seconds + (crossing.after_pause ? pause_seconds : 0);
  }
};

/// The paths to one device. May be used from any thread.
class DevicePaths {
public:
  DevicePaths(const Driver& driver, int ordinal, const WindowCache& windows,
              const RingSettings& ring = {});

  const Context& context() const noexcept { return context_; }
  StagingRing& ring() noexcept { return ring_; }
  PieceMover& mover() noexcept { return mover_; }
  BounceMemory& bounce() noexcept { return bounce_; }
  /// A stream for copies by one thread that have nothing to wait for. Created on first use.
  CUstream background_stream();
  double window_opening_seconds() const { return profile()->window_opening_seconds(); }
  /// Uses this profile from now on to plan copies, and its thread counts to stage them.
  void use(const std::shared_ptr<const Profile>& profile);
  /// Valid for the life of this object, even if another profile is used meanwhile.
  const Profile* profile() const noexcept { return profile_.load(std::memory_order_acquire); }

  /// The cheapest path; with `without_windows` the cheapest that needs no window. There always is
  /// one.
  Choice best(const Crossing& crossing, bool without_windows) const;
  /// True for the second and every sixteenth copy after a pause whose best path isn't the driver's, if
  /// the driver's doesn't take much longer by the profile, or by what was learned: it may take less by
  /// now, and only a copy by it tells. Counts the copies of a direction and kind of memory.
  bool is_driver_to_be_tried(CopyPath best, const Crossing& crossing) noexcept;
  /// Every path, usable ones first, cheapest first, with reasons; also what pauses cost.
  std::vector<PathCost> costs(const Crossing& crossing) const;
  /// Predicted seconds of one path, after a pause by what was learned; 0 if it has no curve.
  double seconds(CopyPath path, const Crossing& crossing) const;
  Expectation expectation(CopyPath path, const Crossing& crossing) const noexcept;
  /// Fetches into the caches what profile() and learn() will read.
  void fetch(const Expectation& expected) const noexcept;
  /// Tells what a copy took. After a pause each path's share of what the profile says of pauses follows
  /// what was seen, in later choices: a program may spin, sleep or run kernels.
  ///
  /// is_try      of a path that isn't taken often: this copy counts for more
  void learn(const Expectation& expected, double seconds, bool is_try = false) noexcept;
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
  /// The same, after a pause too: there windows that several threads share must win clearly.
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
  bool windows_win_clearly_after_pause(Direction direction, std::size_t size_bytes) const;
  static Expectation expectation(const Profile& profile, CopyPath path,
                                 const Crossing& crossing) noexcept;
  double seconds(const Expectation& expected) const noexcept;
  double pause_seconds(const Expectation& expected) const noexcept;
  static std::size_t way_of(CopyPath path, const Crossing& crossing) noexcept {
    return Profile::way_of(path, crossing.direction, crossing.host_kind);
  }
  void give_up_ring(const std::string& why);

  Context context_;
  const WindowCache& windows_;
  StagingRing ring_;
  PieceMover mover_;
  BounceMemory bounce_;
  std::optional<Stream> background_stream_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Profile>> profiles_;  ///< all that were used
  std::atomic<const Profile*> profile_{nullptr};
  std::array<Until, 2> until_;
  /// Of each way: how much of the profile's pause_seconds() copies took lately.
  std::array<std::atomic<float>, Profile::kNumWays> pause_shares_;
  /// Of the driver's way: copies after pauses that another path makes, tries among them.
  std::array<std::atomic<unsigned>, Profile::kNumWays> num_untried_{};
  std::atomic<bool> ring_given_up_{false};
  std::string why_ring_given_up_;
  std::array<std::atomic<std::size_t>, 2> at_once_bytes_{};
};

}  // namespace isthmus::transfer

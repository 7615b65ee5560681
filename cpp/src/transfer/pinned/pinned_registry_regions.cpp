// Regions of a pool: pinned when no block is left, unpinned when nobody uses them.
#include <algorithm>
#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/cpu/clock.hpp"
#include "host/memory/pages.hpp"
#include "transfer/pinned/pinned_registry.hpp"

namespace isthmus::transfer {
namespace {

double seconds_since(std::int64_t begun_ns) {
  return static_cast<double>(host::steady_ns() - begun_ns) * 1e-9;
}

}  // namespace

Block* PinnedRegistry::pin_whole(Lock& lock, const Request& request) {
  while (true) {
    add_region(lock, whole_region_bytes(request.size_bytes), true);
    // Another thread may have been faster.
    if (Block* block = take(request)) return block;
  }
}

Block* PinnedRegistry::pin_shared(Lock& lock, const Request& request) {
  lock.unlock();
  const std::lock_guard growth(growth_);
  lock.lock();
  while (true) {
    if (Block* block = take(request)) return block;  // from the region that another thread pinned
    const std::size_t min_bytes = host::round_up(
        class_bytes(request.size_bytes) + request.alignment_bytes, host::page_bytes());
    const std::size_t room_bytes =
        options_.max_bytes - std::min(options_.max_bytes, stats_.pinned_bytes);
    const std::size_t size_bytes =
        std::min(options_.region_bytes, room_bytes / host::page_bytes() * host::page_bytes());
    add_region(lock, std::max(size_bytes, min_bytes), false);
  }
}

void PinnedRegistry::add_region(Lock& lock, std::size_t size_bytes, bool whole) {
  PinnedRegion memory = pin(lock, size_bytes);
  std::byte* base = memory.data();
  try {
    BlockRegion* blocks = arena_.add_region(base, size_bytes, whole);
    try {
      regions_.emplace(base, OwnedRegion{std::move(memory), blocks});
    } catch (...) {
      arena_.remove_region(blocks);
      throw;
    }
  } catch (...) {
    stats_.pinned_bytes -= size_bytes;
    throw;
  }
  ++stats_.num_pins;
  stats_.peak_pinned_bytes = std::max(stats_.peak_pinned_bytes, stats_.pinned_bytes);
}

/// Pins without holding the lock. If there is no memory, unpins unused regions and tries again.
PinnedRegion PinnedRegistry::pin(Lock& lock, std::size_t size_bytes) {
  for (bool again = true;; again = false) {
    reserve(lock, size_bytes);
    lock.unlock();
    const std::int64_t begun_ns = host::steady_ns();
    try {
      PinnedRegion region(context_, size_bytes, options_.pin);
      lock.lock();
      stats_.pin_seconds += seconds_since(begun_ns);
      return region;
    } catch (const Unavailable&) {
      lock.lock();
      stats_.pinned_bytes -= size_bytes;
      if (!again || !release_unused(lock, 0)) throw;
    } catch (...) {
      lock.lock();
      stats_.pinned_bytes -= size_bytes;
      throw;
    }
  }
}

/// Counts bytes as pinned in advance, so that concurrent threads together stay below the cap.
void PinnedRegistry::reserve(Lock& lock, std::size_t size_bytes) {
  const std::size_t max_bytes = options_.max_bytes;
  if (size_bytes > max_bytes) throw_over_cap(size_bytes);
  if (stats_.pinned_bytes + size_bytes > max_bytes) {
    reap(lock);
    release_unused(lock, max_bytes - size_bytes);
    if (stats_.pinned_bytes + size_bytes > max_bytes) throw_over_cap(size_bytes);
  }
  stats_.pinned_bytes += size_bytes;
}

void PinnedRegistry::throw_over_cap(std::size_t size_bytes) const {
  throw Unavailable("pinned memory of " + std::to_string(size_bytes) + " bytes",
                    "the pool may pin " + std::to_string(options_.max_bytes) + " bytes, and of " +
                        std::to_string(stats_.pinned_bytes) + " pinned " +
                        std::to_string(stats_.used_bytes) + " are in use and " +
                        std::to_string(stats_.pending_bytes) + " wait for streams",
                    "fewer or smaller arrays at a time, or more memory for the machine or its "
                    "cgroup: unless a C++ program sets PinnedPoolOptions::max_bytes, a pool may "
                    "pin half of that");
}

std::vector<PinnedRegistry::OwnedRegion> PinnedRegistry::take_unused(std::size_t kept_bytes) {
  std::vector<OwnedRegion> taken;
  std::size_t left_bytes = stats_.pinned_bytes;
  for (auto each = regions_.begin(); each != regions_.end() && left_bytes > kept_bytes;) {
    if (!each->second.blocks->unused()) {
      ++each;
      continue;
    }
    taken.reserve(taken.size() + 1);
    arena_.remove_region(each->second.blocks);
    left_bytes -= each->second.memory.size_bytes();
    taken.push_back(std::move(each->second));
    each = regions_.erase(each);
  }
  return taken;
}

bool PinnedRegistry::release_unused(Lock& lock, std::size_t kept_bytes) {
  std::vector<OwnedRegion> taken = take_unused(kept_bytes);
  if (taken.empty()) return false;
  std::size_t size_bytes = 0;
  for (const OwnedRegion& each : taken) size_bytes += each.memory.size_bytes();
  const std::size_t num_regions = taken.size();
  lock.unlock();
  const std::int64_t begun_ns = host::steady_ns();
  taken.clear();
  lock.lock();
  stats_.unpin_seconds += seconds_since(begun_ns);
  stats_.num_unpins += num_regions;
  stats_.pinned_bytes -= size_bytes;
  return true;
}

}  // namespace isthmus::transfer

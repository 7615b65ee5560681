// What the threads of the stress program share, and what each has of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>
#include <isthmus/pinned.hpp>
#include <isthmus/transfer.hpp>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "transfer/copy/copy_keeper.hpp"

namespace isthmus::stress {

using Bytes = std::vector<std::uint8_t>;

/// Counts events, by name. May be used from any thread.
class Tally {
public:
  void count(const std::string& what, std::uint64_t num_bytes = 0) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
    num_bytes_ += num_bytes;
  }
  /// Records something that must not happen.
  void fail(const std::string& what) {
    const std::lock_guard lock(mutex_);
    failures_.push_back(what);
  }

  std::map<std::string, std::uint64_t> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::vector<std::string> failures() const {
    const std::lock_guard lock(mutex_);
    return failures_;
  }
  std::uint64_t num_bytes() const {
    const std::lock_guard lock(mutex_);
    return num_bytes_;
  }

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::uint64_t> counts_;
  std::vector<std::string> failures_;
  std::uint64_t num_bytes_ = 0;
};

/// Shared by all threads.
struct Workplace {
  Workplace(const Driver& driver, std::size_t pool_bytes)
      : context(Context::retain(driver, 0)),
        transfers(driver),
        pool(driver, 0, options(pool_bytes)) {}

  static PinnedPoolOptions options(std::size_t pool_bytes) {
    PinnedPoolOptions made;
    made.max_bytes = pool_bytes;
    made.region_bytes = std::size_t{4} << 20U;
    return made;
  }

  Context context;
  Transfers transfers;
  PinnedPool pool;
  transfer::CopyKeeper keeper{[this](const std::string&) { tally.count("failure reported"); }};
  Tally tally;
  std::atomic<bool> ending{false};
};

/// A thread's random numbers.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(engine_);
  }
  bool often() { return below(2) == 0; }
  bool seldom() { return below(16) == 0; }
  /// The size of a copy: small ones are as frequent as large ones.
  std::size_t size(std::size_t most) {
    const std::size_t bits = below(std::bit_width(most));
    return std::min(most, (std::size_t{1} << bits) + below(std::size_t{1} << bits));
  }
  Bytes bytes(std::size_t size_bytes) {
    Bytes made(size_bytes);
    std::uint64_t state = engine_() | 1U;
    for (std::uint8_t& byte : made) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      byte = static_cast<std::uint8_t>(state >> 56U);
    }
    return made;
  }

private:
  std::mt19937_64 engine_;
};

/// Runs an action that may fail: with documented errors, because of an injected failure.
///
/// Returns     false if it failed
inline bool allowed(Tally& tally, const std::string& what, const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const DriverError& error) {
    tally.count(what + ": DriverError");
    if (error.memory_in_use()) tally.fail(what + ": " + error.what());
  } catch (const Unavailable&) {
    tally.count(what + ": Unavailable");
  } catch (const std::bad_alloc&) {
    tally.count(what + ": no memory");
  }
  return false;
}

}  // namespace isthmus::stress

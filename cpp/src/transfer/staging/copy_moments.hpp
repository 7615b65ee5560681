// When the steps of a ring's copy happened, for benchmarks.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus::transfer {

/// Filled by the threads of one copy, in ns of host::steady_ns(). A thread that begins when the copy
/// ends may note that in the next one's.
class CopyMoments {
public:
  void clear() noexcept {
    last_begun_ns_ = first_enqueued_ns_ = last_enqueued_ns_ = enqueueing_ns_ = 0;
    num_pieces_ = 0;
  }
  /// A thread began to work.
  void note_begun(std::int64_t now_ns) noexcept { raise(last_begun_ns_, now_ns); }
  /// A piece was enqueued, from `begun_ns` to `ended_ns`.
  void note_enqueued(std::int64_t begun_ns, std::int64_t ended_ns) noexcept {
    std::int64_t none = 0;
    first_enqueued_ns_.compare_exchange_strong(none, ended_ns);
    raise(last_enqueued_ns_, ended_ns);
    enqueueing_ns_ += ended_ns - begun_ns;
    ++num_pieces_;
  }

  std::int64_t last_begun_ns() const noexcept { return last_begun_ns_; }
  std::int64_t first_enqueued_ns() const noexcept { return first_enqueued_ns_; }
  std::int64_t last_enqueued_ns() const noexcept { return last_enqueued_ns_; }
  /// The sum over all threads, including what they waited for each other.
  std::int64_t enqueueing_ns() const noexcept { return enqueueing_ns_; }
  std::int64_t num_pieces() const noexcept { return num_pieces_; }

private:
  static void raise(std::atomic<std::int64_t>& last_ns, std::int64_t now_ns) noexcept {
    std::int64_t before_ns = last_ns;
    while (before_ns < now_ns && !last_ns.compare_exchange_weak(before_ns, now_ns)) {
    }
  }

  std::atomic<std::int64_t> last_begun_ns_{0};
  std::atomic<std::int64_t> first_enqueued_ns_{0};
  std::atomic<std::int64_t> last_enqueued_ns_{0};
  std::atomic<std::int64_t> enqueueing_ns_{0};
  std::atomic<std::int64_t> num_pieces_{0};
};

}  // namespace isthmus::transfer

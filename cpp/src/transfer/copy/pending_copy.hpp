// A copy that has begun, from the view of those who wait for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "device/completion.hpp"
#include "window/forks.hpp"

namespace isthmus::transfer {

/// What a CopyFuture waits for: work in a stream, or a copy by the background thread. May be
/// used from any thread; in a forked child wait() and ready() throw UsageError.
class PendingCopy {
public:
  /// A copy by the background thread: running until finish().
  PendingCopy() = default;
  /// A copy in a stream of that context. Call end_at() or finish() before others see it.
  explicit PendingCopy(const Context& context) : end_(context) {}
  /// A copy that is complete.
  static std::shared_ptr<PendingCopy> complete();

  /// The copy has ended when the stream has reached this place.
  ///
  /// Throws      DriverError.
  void end_at(CUstream stream) const {
    if (end_) end_->mark(stream);
  }
  /// The copy has ended, whatever a stream does.
  ///
  /// failure     null if it is complete
  void finish(std::exception_ptr failure) noexcept;

  /// Throws the copy's error.
  void wait();
  /// True once wait() would return or throw at once.
  bool ready();
  /// True once nothing uses the memory of either end any more: the copy is complete, or it has
  /// failed and is known to have stopped. Stays false if the driver can't say.
  bool over() noexcept;

private:
  void require_own_process() const;
  static void wait_for(const Completion& end);
  void look_at(const Completion& end);

  const std::uint64_t process_ = window::process_generation();
  std::optional<Completion> end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr failure_;
};

}  // namespace isthmus::transfer

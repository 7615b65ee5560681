// A copy that has begun, from the view of those who wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/stream.hpp"
#include "driver/forks.hpp"
#include "transfer/request/index_reports.hpp"

namespace isthmus::transfer {

/// The failure of a copy that was taken back before it began.
class CopyCancelled final : public UsageError {
public:
  CopyCancelled() : UsageError("this copy was cancelled before it began") {}
};

/// What a CopyFuture waits for: work in a stream, or a copy by the background thread. May be
/// used from any thread; in a forked child wait() and ready() throw UsageError.
class PendingCopy {
public:
  /// A copy by the background thread: running until finish().
  PendingCopy() = default;
  /// A copy in a stream of that context. Call end_at() or finish() before others see it.
  explicit PendingCopy(const Context& context) : end_(context) {}
  ~PendingCopy();
  PendingCopy(const PendingCopy&) = delete;
  PendingCopy& operator=(const PendingCopy&) = delete;
  /// A copy that is complete.
  static std::shared_ptr<PendingCopy> complete();
  /// From now on this is many copies: complete when all are, failed when all have ended and one has
  /// failed. Allocates nothing, because they are running. Call before others see it.
  void stand_for(std::vector<std::shared_ptr<PendingCopy>> parts) noexcept {
    parts_ = std::move(parts);
    done_ = parts_.empty();
  }

  /// The copy has ended when the stream has reached this place.
  ///
  /// Throws      DriverError.
  void end_at(CUstream stream) {
    if (!end_) return;
    end_->mark(stream);
    stream_ = stream;
  }
  /// A kernel that makes this copy may write there. Call before others see it.
  void report_by(std::shared_ptr<IndexReport> report) noexcept { report_ = std::move(report); }
  /// The copy has ended, whatever a stream does.
  ///
  /// failure     null if it is complete
  void finish(std::exception_ptr failure) noexcept;

  /// Until claim() is called, cancel() can take the copy back. Call before others see it.
  void let_cancel() noexcept { may_cancel_.store(true); }
  /// Called by the thread that is about to make the copy.
  ///
  /// Returns     false if it was cancelled
  bool claim() noexcept { return may_cancel_.exchange(false); }
  /// Takes back a copy that no thread has begun.
  ///
  /// Returns     false if it has begun
  bool cancel() noexcept;

  /// The event that marks the copy's end; null if no single event does.
  CUevent event();
  /// True if delay() is possible.
  bool ordered();
  /// Makes later work in `stream` wait for the copy.
  ///
  /// Throws      Unavailable if a thread makes the copy: no stream knows when that ends.
  ///             DriverError.
  void delay(CUstream stream);

  /// Throws the copy's error, but not of indices.
  void wait();
  /// Throws the UsageError of an index outside its pool, each time, if nobody else was told before.
  /// Call after wait().
  void require_indices();
  /// True if require_indices() would throw.
  bool has_index_error() noexcept;
  /// What it would say; empty if nothing.
  std::string index_error();
  /// True once wait() would return or throw at once.
  bool ready();
  /// True once nothing uses the memory of either end any more: the copy is complete, or it has
  /// failed and is known to have stopped. Stays false if the driver can't say.
  bool over() noexcept;

private:
  void require_own_process() const;
  static void wait_for(const Completion& end);
  void look_at(const Completion& end);

  void wait_for_parts() const;

  const std::uint64_t process_ = process_generation();
  std::vector<std::shared_ptr<PendingCopy>> parts_;  ///< of many copies
  std::optional<Completion> end_;
  CUstream stream_ = nullptr;  ///< in which end_ is marked
  std::atomic<bool> may_cancel_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr failure_;
  std::shared_ptr<IndexReport> report_;  ///< null: no kernel reads indices
  std::string index_error_;              ///< that was taken from it
};

}  // namespace isthmus::transfer

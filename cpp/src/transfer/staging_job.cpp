#include "transfer/staging_job.hpp"

#include <algorithm>
#include <string>

#include <isthmus/errors.hpp>

namespace isthmus::transfer {
namespace {

// The last pieces are shared out one by one, with just one more under way to hide the link behind.
constexpr int kMostUnderWayNearEnd = 2;

std::string undefined_text(std::size_t begin, std::size_t end) {
  return "bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
         ") of the target are undefined";
}

}  // namespace

std::optional<Piece> StagingJob::take() noexcept {
  std::size_t begin = next_begin_.load(std::memory_order_relaxed);
  while (!failed() && begin < plan_.size_bytes()) {
    const Piece piece = plan_.piece_at(begin);
    if (next_begin_.compare_exchange_weak(begin, begin + piece.size_bytes,
                                          std::memory_order_relaxed)) {
      return piece;
    }
  }
  return std::nullopt;
}

bool StagingJob::has_more() const noexcept {
  return !failed() && next_begin_.load(std::memory_order_relaxed) < plan_.size_bytes();
}

int StagingJob::most_under_way(int num_slots) const noexcept {
  const std::size_t begin =
      std::min(next_begin_.load(std::memory_order_relaxed), plan_.size_bytes());
  return plan_.near_end(begin) ? std::min(num_slots, kMostUnderWayNearEnd) : num_slots;
}

void StagingJob::fail() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = std::current_exception();
  failed_.store(true, std::memory_order_release);
}

void StagingJob::note_undefined(std::size_t begin) noexcept {
  const std::lock_guard lock(mutex_);
  first_undefined_ = std::min(first_undefined_, begin);
}

void StagingJob::rethrow() const {
  if (!failed()) return;
  const std::size_t begin = std::min(first_undefined_, next_begin_.load());
  const std::string undefined = undefined_text(begin, plan_.size_bytes());
  try {
    std::rethrow_exception(failure_);
  } catch (const OutOfDeviceMemory& error) {
    throw OutOfDeviceMemory(error.code(), error.code_name(), error.symbol(), undefined,
                            error.location());
  } catch (const DriverError& error) {
    throw DriverError(error.code(), error.code_name(), error.symbol(), undefined, error.location());
  } catch (const UsageError& error) {
    throw UsageError(error.what() + ("; " + undefined));
  }
}

}  // namespace isthmus::transfer

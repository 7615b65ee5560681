// A copy that a thread makes again and again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "host/recent_mappings.hpp"

namespace isthmus::transfer {

/// What a thread found out for its last copy by the driver, for the rest of the tick: the same
/// copy need not be examined again. That costs the driver's answers about two pointers and the
/// stream, 0.4 us and up to 1 us where their memory isn't in the caches; a program that polls a
/// result, or feeds a kernel from one buffer, asks thousands of times for the same bytes. What is
/// noted is only that the driver is the best way: it copies what is at the source's address now, or
/// refuses, and then the copy is examined after all.
class RepeatedCopy {
public:
  /// Of the calling thread.
  static RepeatedCopy& of_thread() noexcept;

  struct Facts {
    int device = -1;  ///< -1: nothing is known
    bool uploads = false;
    std::uint64_t pinned_id = 0;    ///< the pinned end's buffer; 0: that end is pageable
    const void* profile = nullptr;  ///< by which the driver was the best way
    double predicted_seconds = 0;
  };
  /// What was noted of this copy in this tick.
  ///
  /// owner       of the note
  Facts find(const void* owner, const void* target, const void* source, std::size_t size_bytes,
             host::Tick now) const noexcept {
    const bool same = owner_ == owner && target_ == target && source_ == source &&
                      size_bytes_ == size_bytes && tick_ == now;
    return same ? facts_ : Facts{};
  }
  void note(const void* owner, const void* target, const void* source, std::size_t size_bytes,
            const Facts& facts, host::Tick now) noexcept;

private:
  const void* owner_ = nullptr;
  const void* target_ = nullptr;
  const void* source_ = nullptr;
  std::size_t size_bytes_ = 0;
  Facts facts_;
  host::Tick tick_ = 0;
};

}  // namespace isthmus::transfer

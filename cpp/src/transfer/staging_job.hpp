// One copy that the threads of a staging ring share.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>

#include "driver/driver.hpp"
#include "transfer/chunk_plan.hpp"
#include "transfer/copy_moments.hpp"
#include "transfer/memory_target.hpp"
#include "transfer/slot_filler.hpp"

namespace isthmus::transfer {

/// What is to be copied, who takes which piece of it, and what went wrong. The first four members
/// are set before threads see it. Of `source` and `target` one is null.
class StagingJob {
public:
  StagingJob(const ChunkPlan& plan, CUdeviceptr device_address)
      : device_address_(device_address), plan_(plan) {}

  const SlotFiller* source = nullptr;    ///< of an upload
  const MemoryTarget* target = nullptr;  ///< of a download
  bool completes = true;                 ///< false: an upload may end with copies under way
  CopyMoments* moments = nullptr;        ///< null if nobody wants to know

  CUdeviceptr device_address_of(const Piece& piece) const noexcept {
    return device_address_ + piece.begin;
  }

  /// Gives a piece to the calling thread; none when there is none left, or the copy has failed.
  std::optional<Piece> take() noexcept;
  /// False if take() won't give any more.
  bool has_more() const noexcept;
  /// How many pieces a thread may have under way, of `num_slots`: fewer when they become scarce.
  int most_under_way(int num_slots) const noexcept;

  /// Notes the exception that is being handled, and makes take() give no more.
  void fail() noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Of a piece that was taken and may not have arrived.
  void note_undefined(std::size_t begin) noexcept;

  /// Throws the first failure with the bytes of the target that are undefined, if there was one.
  /// When no thread works on it any more.
  void rethrow() const;

private:
  CUdeviceptr device_address_;
  ChunkPlan plan_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::size_t first_undefined_ = ~std::size_t{0};
  alignas(128) std::atomic<std::size_t> next_begin_{0};  // 128: see copy_worker.hpp, kApartBytes
};

}  // namespace isthmus::transfer

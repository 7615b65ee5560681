#include "transfer/staging/staging_ring.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/staging/host_ends.hpp"
#include "transfer/staging/slot_crossing.hpp"
#include "transfer/staging/worker_pool.hpp"

namespace isthmus::transfer {
namespace {

std::size_t address_of(const std::byte* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// True if CUDA was torn down at the end of the process: its threads may never return then.
bool torn_down(const Context& context) {
  const Driver& driver = context.driver();
  if (driver.raw(symbol::ctx_push_current)(context.handle()) != CUDA_SUCCESS) return true;
  CUcontext popped = nullptr;
  driver.raw(symbol::ctx_pop_current)(&popped);
  return false;
}

std::size_t num_slots(const RingSettings& settings) {
  return static_cast<std::size_t>(settings.num_slots);
}

/// Cuts an upload so that the slots hold all of it, or as much as possible, while the stream holds
/// it back.
PlanLimits staged_limits(PlanLimits limits, const RingSettings& settings, std::size_t size_bytes) {
  // One slot fewer, because the ends of pieces are rounded down.
  const std::size_t share = size_bytes / std::max<std::size_t>(1, num_slots(settings) - 1) + 1;
  limits.max_bytes = settings.slot_bytes;
  limits.first_bytes = limits.last_bytes = std::clamp(share, limits.last_bytes, limits.max_bytes);
  return limits;
}

}  // namespace

StagingRing::StagingRing(const Context& context, const RingSettings& settings)
    : pool_(std::make_unique<WorkerPool>(context, settings)) {}

StagingRing::~StagingRing() {
  // In a forked child the threads don't exist, and the lock may be held for ever.
  if (pool_->in_own_process() && !torn_down(pool_->context)) return;
  [[maybe_unused]] const WorkerPool* const forgotten = pool_.release();
}

void StagingRing::WorkerPool::upload(const StagedRanges& ranges, std::size_t address,
                                     int num_threads, CUstream stream, UploadEnd end) {
  const std::size_t size_bytes = ranges.size_bytes();
  const bool staged = end == UploadEnd::staged;
  const UploadSlots slots = upload_slots(size_bytes);
  PlanLimits limits = upload_limits(size_bytes, staged ? settings.slot_bytes : slots.piece_bytes);
  PiecePlan plan(size_bytes, num_threads, limits, address);
  if (staged && plan.pieces().size() > num_slots(settings)) {
    limits = staged_limits(limits, settings, size_bytes);
    plan = PiecePlan(size_bytes, num_threads, limits, address);
  }
  const auto shared = std::make_shared<SharedCopy>(std::move(plan), ranges);
  shared->job.completes = !staged;
  if (!staged) shared->job.num_slots = slots.num_slots;
  shared->job.sleeps = sleeps_after(size_bytes);
  // Consecutive staged copies use slots of one size, or the second would wait for the first.
  copy(shared, num_threads, staged ? settings.slot_bytes : limits.max_bytes, stream);
}

void StagingRing::WorkerPool::download(const StagedRanges& ranges, std::size_t address,
                                       std::size_t grain_bytes, bool fresh, CUstream stream) {
  const int num_threads = download_threads(ranges.size_bytes(), fresh);
  const PlanLimits limits = download_limits(ranges.size_bytes(), grain_bytes);
  const auto shared = std::make_shared<SharedCopy>(
      PiecePlan(ranges.size_bytes(), num_threads, limits, address), ranges);
  // Of several targets any may lack pages.
  shared->job.makes_pages = fresh || ranges.all().size() > 1;
  copy(shared, num_threads, limits.max_bytes, stream);
}

void StagingRing::WorkerPool::upload_one(const OneDevice& target, const std::byte* source,
                                         std::size_t size_bytes, CUstream stream, UploadEnd end) {
  require_own_process();
  if (size_bytes == 0) return;
  const int num_threads = upload_threads(size_bytes);
  const auto turn = take_turn(num_threads);
  const Backing found = backing.of(source, size_bytes);
  const MemorySource memory(source, found, upload_filling(size_bytes, num_threads));
  const MappedFileSource file(source, size_bytes);
  const bool is_file = found == Backing::file;
  const StagedRanges one(
      {target.begin, size_bytes, is_file ? static_cast<const PartSource*>(&file) : &memory},
      target.crossing);
  upload(one, target.begin, num_threads, stream, end);
}

void StagingRing::WorkerPool::download_one(std::byte* target, const OneDevice& source,
                                           std::size_t size_bytes, CUstream stream) {
  require_own_process();
  if (size_bytes == 0) return;
  const auto turn = take_turn(download_threads(size_bytes, false));
  const MemoryTarget memory(target, size_bytes, {settings.min_long_bytes, settings.min_huge_bytes},
                            backing.of(target, size_bytes));
  const StagedRanges one({source.begin, size_bytes, nullptr, &memory}, source.crossing);
  std::size_t address = address_of(target);
  std::size_t grain = memory.grain_bytes();
  if (source.crossing != nullptr) {
    // Pieces end in whole pages of the target, counted from a whole grain before it.
    address = address / SlotCrossing::kGrainBytes * SlotCrossing::kGrainBytes;
    if (grain > settings.slot_bytes) grain = SlotCrossing::kGrainBytes;
  }
  download(one, address, grain, memory.fresh(), stream);
}

void StagingRing::upload(CUdeviceptr target, const std::byte* source, std::size_t size_bytes,
                         CUstream stream, UploadEnd end) {
  pool_->upload_one({target}, source, size_bytes, stream, end);
}

void StagingRing::upload(const SlotCrossing& crossing, const std::byte* source,
                         std::size_t size_bytes, CUstream stream) {
  pool_->upload_one({0, &crossing}, source, size_bytes, stream, UploadEnd::complete);
}

void StagingRing::download(std::byte* target, CUdeviceptr source, std::size_t size_bytes,
                           CUstream stream) {
  pool_->download_one(target, {source}, size_bytes, stream);
}

void StagingRing::download(std::byte* target, const SlotCrossing& crossing, std::size_t size_bytes,
                           CUstream stream) {
  pool_->download_one(target, {0, &crossing}, size_bytes, stream);
}

void StagingRing::upload(CUdeviceptr target, const SlotFiller& source, std::size_t size_bytes,
                         CUstream stream, UploadEnd end) {
  pool_->require_own_process();
  if (size_bytes == 0) return;
  const std::size_t bytes = pool_->filler_bytes();
  const StagedRanges one({target, size_bytes});
  const auto shared = std::make_shared<SharedCopy>(
      PiecePlan(size_bytes, pool_->max_threads, {bytes, bytes, bytes, bytes, bytes, 1}), one);
  shared->job.filler = &source;
  shared->job.completes = end == UploadEnd::complete;
  const auto turn = pool_->take_turn(pool_->max_threads);
  pool_->copy(shared, pool_->max_threads, bytes, stream);
}

int StagingRing::num_threads() const noexcept { return pool_->num_threads(); }

int StagingRing::max_threads() const noexcept { return pool_->possible_threads; }

int StagingRing::max_threads_of(std::size_t size_bytes) const noexcept {
  return pool_->threads_at_most(size_bytes, pool_->possible_threads);
}

void StagingRing::use_threads(const RingThreads& threads) noexcept { pool_->use_threads(threads); }

void StagingRing::trim() { pool_->trim(); }

std::size_t StagingRing::pinned_bytes() const noexcept { return pool_->pinned_bytes; }

}  // namespace isthmus::transfer

#include "transfer/staging_ring.hpp"

#include <algorithm>
#include <cstdint>

#include <isthmus/errors.hpp>

#include "transfer/memory_source.hpp"
#include "transfer/memory_target.hpp"
#include "transfer/ring_crew.hpp"

namespace isthmus::transfer {
namespace {

std::size_t address_of(const std::byte* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// True if CUDA has ended with the process: its threads may never come back then.
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

/// So that the slots hold all of an upload, or as much as they can, while the stream holds it back.
PlanLimits staged_limits(PlanLimits limits, const RingSettings& settings, std::size_t size_bytes) {
  // One slot less, since the ends of pieces are rounded down.
  const std::size_t share = size_bytes / std::max<std::size_t>(1, num_slots(settings) - 1) + 1;
  limits.first_bytes = limits.last_bytes = std::clamp(share, limits.last_bytes, limits.most_bytes);
  return limits;
}

}  // namespace

StagingRing::StagingRing(const Context& context, const RingSettings& settings)
    : crew_(std::make_unique<Crew>(context, settings)) {}

StagingRing::~StagingRing() {
  // In a forked child the threads don't exist, and the lock may be held for ever.
  if (crew_->in_own_process() && !torn_down(crew_->context)) return;
  [[maybe_unused]] const Crew* const forgotten = crew_.release();
}

void StagingRing::upload(CUdeviceptr target, const std::byte* source, std::size_t size_bytes,
                         CUstream stream, UploadEnd end) {
  crew_->require_own_process();
  if (size_bytes == 0) return;
  const Backing backing = crew_->backing.of(source, size_bytes);
  const MemorySource memory(source, backing);
  const MappedFileSource file(source, size_bytes);
  const int num_threads = crew_->threads_for(size_bytes);
  PiecePlan plan(size_bytes, num_threads, crew_->upload_limits(), target);
  const bool staged = end == UploadEnd::staged;
  if (staged && plan.pieces().size() > num_slots(crew_->settings)) {
    const PlanLimits limits = staged_limits(crew_->upload_limits(), crew_->settings, size_bytes);
    plan = PiecePlan(size_bytes, num_threads, limits, target);
  }
  StagingJob job(plan, target);
  job.source = backing == Backing::file ? static_cast<const PartSource*>(&file) : &memory;
  job.completes = !staged;
  crew_->copy(job, num_threads, crew_->settings.slot_bytes, stream);
}

void StagingRing::upload(CUdeviceptr target, const SlotFiller& source, std::size_t size_bytes,
                         CUstream stream, UploadEnd end) {
  crew_->require_own_process();
  if (size_bytes == 0) return;
  const std::size_t bytes = crew_->filler_bytes();
  const PiecePlan plan(size_bytes, crew_->most_threads, {bytes, bytes, bytes, bytes, bytes, 1});
  StagingJob job(plan, target);
  job.filler = &source;
  job.completes = end == UploadEnd::complete;
  crew_->copy(job, crew_->most_threads, bytes, stream);
}

void StagingRing::download(std::byte* target, CUdeviceptr source, std::size_t size_bytes,
                           CUstream stream) {
  crew_->require_own_process();
  if (size_bytes == 0) return;
  const RingSettings& settings = crew_->settings;
  const MemoryTarget memory(target, size_bytes,
                            {settings.least_streamed_bytes, settings.least_huge_bytes},
                            crew_->backing.of(target, size_bytes));
  const int num_threads = crew_->threads_for(size_bytes, memory.fresh());
  const PiecePlan plan(size_bytes, num_threads, crew_->download_limits(memory.grain_bytes()),
                       address_of(target));
  StagingJob job(plan, source);
  job.target = &memory;
  crew_->copy(job, num_threads, settings.slot_bytes, stream);
}

int StagingRing::num_threads() const noexcept {
  return std::max(crew_->most_threads, crew_->most_fresh_threads);
}

void StagingRing::trim() { crew_->trim(); }

std::size_t StagingRing::pinned_bytes() const noexcept { return crew_->pinned_bytes; }

}  // namespace isthmus::transfer

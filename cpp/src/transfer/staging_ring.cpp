#include "transfer/staging_ring.hpp"

#include <algorithm>
#include <cstdint>

#include <isthmus/errors.hpp>

#include "transfer/memory_source.hpp"
#include "transfer/memory_target.hpp"
#include "transfer/ring_crew.hpp"

namespace isthmus::transfer {
namespace {

// Ends at whole pages let each be read by one thread only.
constexpr std::size_t kPageBytes = 4096;

std::size_t address_of(const std::byte* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// True if CUDA has ended with the process: its threads may never come back then.
bool torn_down(const Context& context) {
  const Driver& driver = context.driver();
  if (driver.raw(symbol::ctx_push_current)(context.handle()) != CUDA_SUCCESS) return true;
  CUcontext popped = nullptr;
  driver.raw(symbol::ctx_pop_current)(&popped);
  return false;
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
  const MemorySource memory(source, target, backing);
  const MappedFileSource file(source, size_bytes, target);
  const int num_threads = crew_->threads_for(size_bytes);
  ChunkLimits limits = crew_->chunk_limits(kPageBytes);
  // So that the slots hold all of it, or as much as they can, while the stream holds it back.
  if (end == UploadEnd::staged) {
    limits.first_bytes = limits.least_bytes = crew_->bytes_per_slot(size_bytes, num_threads);
  }
  const ChunkPlan plan(size_bytes, num_threads, limits, address_of(source));
  StagingJob job(plan, target);
  job.source = backing == Backing::file ? static_cast<const SlotFiller*>(&file) : &memory;
  job.completes = end == UploadEnd::complete;
  crew_->copy(job, num_threads, stream);
}

void StagingRing::upload(CUdeviceptr target, const SlotFiller& source, std::size_t size_bytes,
                         CUstream stream, UploadEnd end) {
  crew_->require_own_process();
  if (size_bytes == 0) return;
  const std::size_t chunk_bytes = crew_->settings.chunk_bytes;
  const ChunkPlan plan(size_bytes, crew_->most_threads, {chunk_bytes, chunk_bytes, chunk_bytes, 1});
  StagingJob job(plan, target);
  job.source = &source;
  job.completes = end == UploadEnd::complete;
  crew_->copy(job, crew_->most_threads, stream);
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
  const ChunkPlan plan(size_bytes, num_threads,
                       crew_->chunk_limits(memory.grain_bytes(), memory.fresh()),
                       address_of(target));
  StagingJob job(plan, source);
  job.target = &memory;
  crew_->copy(job, num_threads, stream);
}

int StagingRing::num_threads() const noexcept {
  return std::max(crew_->most_threads, crew_->most_fresh_threads);
}

void StagingRing::trim() { crew_->trim(); }

std::size_t StagingRing::pinned_bytes() const noexcept { return crew_->pinned_bytes; }

}  // namespace isthmus::transfer

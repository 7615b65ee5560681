#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include "transfer/copy/copy_at_once.hpp"
#include "transfer/copy/engine.hpp"

namespace isthmus {

std::string_view name_of(MemoryKind kind) noexcept {
  switch (kind) {
    case MemoryKind::unknown:
      return "unknown";
    case MemoryKind::pageable:
      return "pageable";
    case MemoryKind::pinned:
      return "pinned";
    case MemoryKind::device:
      return "device";
    case MemoryKind::managed:
      return "managed";
    case MemoryKind::host:
      return "host";
  }
  return "unknown";
}

std::string_view name_of(CopyPath path) noexcept {
  switch (path) {
    case CopyPath::window:
      return "window";
    case CopyPath::window_threads:
      return "window_threads";
    case CopyPath::driver:
      return "driver";
    case CopyPath::staged:
      return "staged";
    case CopyPath::registered:
      return "registered";
    case CopyPath::kernel:
      return "kernel";
  }
  return "unknown";
}

CopyFuture::CopyFuture(std::shared_ptr<transfer::PendingCopy> pending)
    : pending_(std::move(pending)) {}

void CopyFuture::wait() {
  if (pending_ == nullptr) throw UsageError("this CopyFuture has no copy");
  pending_->wait();
  pending_->require_indices();
}

bool CopyFuture::ready() const {
  if (pending_ == nullptr) throw UsageError("this CopyFuture has no copy");
  return pending_->ready();
}

bool CopyFuture::over() const noexcept { return pending_ == nullptr || pending_->over(); }

bool CopyFuture::cancel() noexcept { return pending_ != nullptr && pending_->cancel(); }

std::uintptr_t CopyFuture::event() const {
  return pending_ == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(pending_->event());
}

bool CopyFuture::ordered() const { return pending_ == nullptr || pending_->ordered(); }

void CopyFuture::delay(std::uintptr_t stream) const {
  if (pending_ != nullptr) pending_->delay(reinterpret_cast<CUstream>(stream));
}

Transfers::Transfers(const Driver& driver) : Transfers(Windows(driver)) {}

Transfers::Transfers(Windows windows)
    : Transfers(std::make_shared<transfer::Engine>(std::move(windows))) {}

Transfers transfer::transfers_with_ring(Windows windows, const RingSettings& ring) {
  return Engine::transfers(std::move(windows), ring);
}

bool transfer::copy_at_once(Transfers& transfers, void* target, const void* source,
                            std::size_t size_bytes, const CopyOptions& options) {
  return Engine::of(transfers).copy_at_once(target, source, size_bytes, options);
}

Transfers::Transfers(std::shared_ptr<transfer::Engine> engine) : engine_(std::move(engine)) {}

void Transfers::copy(void* target, const void* source, std::size_t size_bytes,
                     const CopyOptions& options) {
  engine_->here().copy(target, source, size_bytes, options);
}

CopyFuture Transfers::copy_async(void* target, const void* source, std::size_t size_bytes,
                                 const CopyOptions& options, SourceOrder source_order) {
  return CopyFuture(engine_->here().copy_async(target, source, size_bytes, options, source_order));
}

void Transfers::copy_many(std::span<const ManyCopy> copies) { engine_->here().copy_many(copies); }

CopyFuture Transfers::copy_many_async(std::span<const ManyCopy> copies, SourceOrder source_order) {
  return CopyFuture(engine_->here().copy_many_async(copies, source_order));
}

CopyFuture Transfers::copy_blocks(const BlockCopy& copy, const BlockOptions& options) {
  transfer::BlockCopies& blocks = engine_->here().blocks();
  return CopyFuture(blocks.prepare(copy, options, transfer::BlockCopies::Uses::once)
                        ->run(reinterpret_cast<CUstream>(options.stream)));
}

PreparedCopy Transfers::prepare_blocks(const BlockCopy& copy, const BlockOptions& options) {
  transfer::BlockCopies& blocks = engine_->here().blocks();
  const auto work = blocks.prepare(copy, options, transfer::BlockCopies::Uses::many);
  work->owner = engine_;
  return PreparedCopy(work);
}

void Transfers::check_blocks() { engine_->here().blocks().check(); }

CopyFuture Transfers::copy_pieces(const CopyPieces& pieces, std::uintptr_t stream) {
  transfer::BlockCopies& blocks = engine_->here().blocks();
  return CopyFuture(blocks.prepare(pieces, transfer::BlockCopies::Uses::once)
                        ->run(reinterpret_cast<CUstream>(stream)));
}

PreparedCopy Transfers::prepare_many(std::span<const ManyCopy> copies) {
  const auto work = engine_->here().blocks().prepare(copies);
  work->owner = engine_;
  return PreparedCopy(work);
}

PreparedCopy::PreparedCopy(std::shared_ptr<const transfer::PreparedWork> work)
    : work_(std::move(work)) {}

CopyFuture PreparedCopy::run(std::uintptr_t stream) const {
  if (work_ == nullptr) throw UsageError("this PreparedCopy has no copy");
  return CopyFuture(work_->run(reinterpret_cast<CUstream>(stream)));
}

BlockWay PreparedCopy::explain() const {
  if (work_ == nullptr) throw UsageError("this PreparedCopy has no copy");
  return work_->told;
}

void Transfers::copy_strided(const StridedCopy& copy, const CopyOptions& options) {
  engine_->here().copy_strided(copy, options);
}

void Transfers::check_strided(const StridedCopy& copy, const CopyOptions& options) {
  engine_->here().check_strided(copy, options);
}

void Transfers::check_host_memory(const void* memory, std::size_t size_bytes, bool writes) {
  engine_->here().check_host_memory(memory, size_bytes, writes);
}

void Transfers::wait_for_work(std::uintptr_t stream) {
  engine_->here().wait_for_work(reinterpret_cast<CUstream>(stream));
}

void Transfers::copy_file(void* target, int descriptor, std::uint64_t offset_bytes,
                          std::size_t size_bytes, const CopyOptions& options) {
  engine_->here().copy_file(target, descriptor, offset_bytes, size_bytes, options);
}

CopyPlan Transfers::explain(const void* target, const void* source, std::size_t size_bytes,
                            const CopyOptions& options) {
  return engine_->here().explain(target, source, size_bytes, options);
}

std::vector<PathShare> Transfers::explain_many(std::span<const ManyCopy> copies) {
  return engine_->here().explain_many(copies);
}

std::vector<PathUse> Transfers::stats() const { return engine_->here().statistics().uses(); }

void Transfers::trim() { engine_->here().trim(); }

void Transfers::use_profile(std::string_view json) { engine_->here().use_profile(json); }

void Transfers::use_nvrtc(std::string library) { engine_->here().use_nvrtc(std::move(library)); }

Windows& Transfers::windows() noexcept { return engine_->windows; }

const Driver& Transfers::driver() const noexcept { return engine_->driver; }

}  // namespace isthmus

#include "transfer/blocks/prepared_work.hpp"

#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/stream_order.hpp"

namespace isthmus::transfer {

PreparedWork::~PreparedWork() {
  try {
    if (once != nullptr) device->block_mover().give_back(std::move(once), std::nullopt);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it was freed instead
  }
}

void PreparedWork::require_same_memory() const {
  for (const KnownBuffer& buffer : buffers)
    if (range_at(driver_, buffer.address).buffer_id != buffer.id)
      throw UsageError("a pool of this copy was freed since it was prepared: prepare it again");
}

std::shared_ptr<PendingCopy> PreparedWork::run_staged(CUstream stream) const {
  if (copies.empty()) return PendingCopy::complete();
  if (stream != nullptr && driver_.has_devices() && is_captured(driver_, stream))
    throw UsageError(
        "this copy can't be captured: the CPU moves pageable memory, and a graph doesn't repeat "
        "that. Pin the pool: isthmus.pinned, or PinnedPool");
  std::vector<ManyCopy> in_stream = copies;
  for (ManyCopy& copy : in_stream) copy.options.stream = reinterpret_cast<std::uintptr_t>(stream);
  return many_.copy_async(in_stream, SourceOrder::call);
}

std::shared_ptr<PendingCopy> PreparedWork::run(CUstream stream) const {
  const Devices::AnyContext any = devices_.any_context(false);
  require_same_memory();
  if (device == nullptr) return run_staged(stream);
  const ContextOfDevice context(device->context());
  if (report != nullptr)
    if (const std::string wrong = report->take("an earlier run of this copy of blocks");
        !wrong.empty())
      throw UsageError(wrong);
  if (device->context().is_foreign_current())
    throw Unavailable("a copy of blocks", "the current context isn't the device's primary one",
                      "the primary context, which frameworks use");
  const bool captured = is_captured(driver_, stream);
  if (captured && once != nullptr)
    throw UsageError(
        "indices or pieces on the host are read by the call, which a graph doesn't repeat: prepare "
        "the copy before (plan_blocks, plan_many), or pass indices on the device");
  if (captured) {
    enqueue(stream, true);
    return PendingCopy::complete();
  }
  auto pending = std::make_shared<PendingCopy>(device->context());
  pending->report_by(report);
  enqueue(stream, false);
  try {
    pending->end_at(stream);
  } catch (...) {
    wait_for_copies(driver_, stream);
    pending->finish(nullptr);
  }
  return pending;
}

void PreparedWork::enqueue(CUstream stream, bool captured) const try {
  enqueue_kept(stream, captured);
  if (once != nullptr) device->block_mover().give_back(std::move(once), stream);
} catch (...) {
  if (captured) throw;  // nothing runs
  try {
    throw_once_idle(driver_, stream);
  } catch (const DriverError& error) {
    if (error.memory_in_use() && once != nullptr) BlockMover::keep(std::move(once));
    throw;
  }
}

void PreparedWork::enqueue_kept(CUstream stream, bool captured) const {
  BlockMover& mover = device->block_mover();
  // The driver takes no batches in the legacy default stream, and none in a capture. It may read the
  // sources at any time if no work of the stream can write them.
  if (way == Way::batch && batch && !captured && !is_legacy(stream))
    return batch->enqueue(stream, is_idle(driver_, stream) ? CU_MEMCPY_SRC_ACCESS_ORDER_ANY
                                                           : CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
  if (num_pieces != 0) {
    const CUdeviceptr pieces = kept ? kept->pointer() : reinterpret_cast<CUdeviceptr>(once->data());
    return mover.move_pieces(pieces, num_pieces, launch, stream);
  }
  // A graph keeps the word of a prepared copy alone.
  BlockLaunch how = launch;
  if (report != nullptr && (!captured || owner != nullptr)) how.report = report->address();
  for (const IsthmusBlocks& each : launches) mover.move(each, how, stream);
}

}  // namespace isthmus::transfer

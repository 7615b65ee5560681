#include <algorithm>
#include <memory>

#include "device/cleanup.hpp"
#include "transfer/carriers/carrier.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/carriers/vanishing_memory.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/staging/file_source.hpp"

namespace isthmus::transfer {
namespace {

// Long enough for a disk to be fast: benchmarks/transfer.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20U;

/// Copies in this thread alone, through ordinary memory.
void copy_by_pieces(const Driver& driver, void* target, const FileSource& source,
                    std::size_t size_bytes, CUstream stream) {
  auto piece = std::make_unique_for_overwrite<std::byte[]>(std::min(size_bytes, kPieceBytes) +
                                                           kSlotSlackBytes + host::kSmallPageBytes);
  const auto start = reinterpret_cast<std::uintptr_t>(piece.get());
  std::byte* const slot =
      piece.get() + (host::kSmallPageBytes - start % host::kSmallPageBytes) % host::kSmallPageBytes;
  for (std::size_t done = 0; done < size_bytes; done += kPieceBytes) {
    const std::size_t count = std::min(size_bytes - done, kPieceBytes);
    const std::size_t first = source.fill(slot, done, count);
    const CopyEnds ends{static_cast<std::byte*>(target) + done, slot + first, count,
                        MemoryKind::device, MemoryKind::pageable};
    try {
      copy_by_driver(driver, ends, stream);
    } catch (...) {
      if (leaves_memory_in_use(std::current_exception())) note_leaked(piece.release());
      throw;
    }
  }
}

/// For a pageable source, each call returns once its bytes are staged: the driver's own rule.
void enqueue(const Driver& driver, const CopyEnds& ends, CUstream stream) {
  bool any_enqueued = false;
  try {
    copy_unless_vanishing(ends, [&](const CopyEnds& piece) {
      enqueue_driver_copy(driver, piece, stream);
      any_enqueued = true;
    });
  } catch (...) {
    if (!any_enqueued) throw;
    throw_once_idle(driver, stream);
  }
}

}  // namespace

void DriverCarrier::carry(const Plan& plan, const Request& request) const {
  if (plan.device == nullptr) return copy_on_host(driver_, plan.ends, request.stream);
  if (plan.recorded) return enqueue_driver_copy(driver_, plan.ends, request.stream);
  if (plan.file != nullptr)
    return copy_by_pieces(driver_, plan.ends.target, *plan.file, plan.ends.size_bytes,
                          request.stream);
  copy_unless_vanishing(
      plan.ends, [&](const CopyEnds& ends) { copy_by_driver(driver_, ends, request.stream); },
      &plan.device->bounce());
}

bool DriverCarrier::can_begin(const Plan& plan, const Request& request) const noexcept {
  const bool staged_by_driver = plan.uploads() && request.when == Return::source_free;
  return plan.ends.is_ordered_by_driver() || staged_by_driver;
}

std::shared_ptr<PendingCopy> DriverCarrier::begin(const Plan& plan, const Request& request) const {
  if (!can_begin(plan, request)) return nullptr;
  // Everything that can fail comes before the copy begins.
  auto pending = std::make_shared<PendingCopy>(plan.device->context());
  enqueue(driver_, plan.ends, request.stream);
  end_there(*pending, request.stream);
  return pending;
}

}  // namespace isthmus::transfer

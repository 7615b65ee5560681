#include "transfer/carriers/carrier.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/staging/file_source.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace isthmus::transfer {
namespace {

void upload(const Plan& plan, CUstream stream, UploadEnd end) {
  StagingRing& ring = plan.device->ring();
  if (plan.pieces != nullptr) return ring.upload(*plan.pieces, stream, end);
  if (plan.file != nullptr)
    return ring.upload(plan.device_address(), *plan.file, plan.ends.size_bytes, stream, end);
  ring.upload(plan.device_address(), static_cast<const std::byte*>(plan.ends.source),
              plan.ends.size_bytes, stream, end);
}

void copy_by_ring(const Plan& plan, CUstream stream) {
  if (plan.uploads()) return upload(plan, stream, UploadEnd::complete);
  if (plan.pieces != nullptr) return plan.device->ring().download(*plan.pieces, stream);
  plan.device->ring().download(static_cast<std::byte*>(plan.ends.target), plan.device_address(),
                               plan.ends.size_bytes, stream);
}

/// One of the copies that a plan makes together.
Plan plan_of(const LinkPiece& piece, const Plan& together) {
  Crossing crossing = together.crossing;
  crossing.size_bytes = piece.size_bytes;
  void* const device = reinterpret_cast<void*>(piece.device);
  const CopyEnds ends = together.uploads() ? ends_of(crossing, device, piece.host)
                                           : ends_of(crossing, piece.host, device);
  return {ends, crossing, together.device, CopyPath::driver};
}

}  // namespace

/// The stand-in makes one copy at a time.
void StagedCarrier::carry_without_ring(const Plan& plan, const Request& request) const {
  if (plan.pieces == nullptr) return stand_in_.carry(plan, request);
  for (const LinkPiece& piece : *plan.pieces) stand_in_.carry(plan_of(piece, plan), request);
}

void StagedCarrier::carry(const Plan& plan, const Request& request) const {
  if (plan.by_name) return copy_by_ring(plan, request.stream);
  const bool carried = plan.device->try_ring([&] { copy_by_ring(plan, request.stream); });
  if (!carried) carry_without_ring(plan, request);
}

/// The same, but returns once all sources are free, as the stand-in does. The last copy's end in the
/// stream is that of all.
std::shared_ptr<PendingCopy> StagedCarrier::begin_without_ring(const Plan& plan,
                                                               const Request& request) const {
  if (plan.pieces == nullptr) return stand_in_.begin(plan, request);
  std::shared_ptr<PendingCopy> last;
  try {
    for (const LinkPiece& piece : *plan.pieces)
      last = stand_in_.begin(plan_of(piece, plan), request);
  } catch (...) {
    if (last == nullptr) throw;
    throw_once_idle(driver_, request.stream);
  }
  return last;
}

bool StagedCarrier::can_begin(const Plan& plan, const Request& request) const noexcept {
  return plan.uploads() && request.when == Return::source_free;
}

std::shared_ptr<PendingCopy> StagedCarrier::begin(const Plan& plan, const Request& request) const {
  if (!can_begin(plan, request)) return nullptr;
  auto pending = std::make_shared<PendingCopy>(plan.device->context());
  const auto stage = [&] { upload(plan, request.stream, UploadEnd::staged); };
  if (plan.by_name) {
    stage();
  } else if (!plan.device->try_ring(stage)) {
    return begin_without_ring(plan, request);
  }
  end_there(*pending, request.stream);
  return pending;
}

}  // namespace isthmus::transfer

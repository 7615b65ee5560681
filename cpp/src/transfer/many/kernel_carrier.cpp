#include <algorithm>
#include <memory>

#include "transfer/carriers/carrier.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {
namespace {

/// If it throws, nothing of the copy is running any more.
void enqueue(const Driver& driver, const Plan& plan, CUstream stream) try {
  PieceMover& mover = plan.device->mover();
  if (plan.uploads()) return mover.upload(*plan.pieces, stream);
  mover.download(*plan.pieces, stream);
} catch (...) {
  throw_once_idle(driver, stream);
}

}  // namespace

void KernelCarrier::carry(const Plan& plan, const Request& request) const {
  enqueue(driver_, plan, request.stream);
  wait_for_copies(driver_, request.stream);
}

bool KernelCarrier::can_begin(const Plan& plan, const Request& /*request*/) const noexcept {
  const auto is_direct = [](const LinkPiece& piece) { return piece.direct; };
  return plan.uploads() || std::ranges::all_of(*plan.pieces, is_direct);
}

std::shared_ptr<PendingCopy> KernelCarrier::begin(const Plan& plan, const Request& request) const {
  if (!can_begin(plan, request)) return nullptr;
  auto pending = std::make_shared<PendingCopy>(plan.device->context());
  enqueue(driver_, plan, request.stream);
  end_there(*pending, request.stream);
  return pending;
}

}  // namespace isthmus::transfer

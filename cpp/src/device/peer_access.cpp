#include "device/peer_access.hpp"

#include <isthmus/errors.hpp>

#include <utility>

#include "device/cleanup.hpp"

namespace isthmus {
namespace {

CUdevice device_of(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  driver.call(symbol::device_get)(&device, ordinal);
  return device;
}

void require_access(const Context& accessor, const Context& peer) {
  const int from = accessor.device().ordinal;
  const int to = peer.device().ordinal;
  if (from == to) {
    throw UsageError("peer access: both contexts are device " + std::to_string(from) + "'s");
  }
  if (can_access_peer(accessor.driver(), from, to)) return;
  throw Unavailable(
      "peer access",
      "GPU " + std::to_string(from) + " can't reach the memory of GPU " + std::to_string(to),
      "NVLink, or a PCIe path between the two that the driver allows");
}

}  // namespace

bool can_access_peer(const Driver& driver, int accessor, int peer) {
  if (!driver.has(symbol::device_can_access_peer)) return false;
  int possible = 0;
  driver.call(symbol::device_can_access_peer)(&possible, device_of(driver, accessor),
                                              device_of(driver, peer));
  return possible != 0;
}

PeerAccess::PeerAccess(const Context& accessor, const Context& peer)
    : accessor_(accessor), peer_(peer) {
  require_access(accessor, peer);
  const CurrentContext current(accessor_);
  const Driver& driver = accessor_.driver();
  const auto enable = driver.raw(symbol::ctx_enable_peer_access);
  const CUresult result =
      enable != nullptr ? enable(peer_.handle(), 0U) : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return;
  driver.check(result, symbol::ctx_enable_peer_access.name);
  ours_ = true;
}

PeerAccess::PeerAccess(PeerAccess&& other) noexcept
    : accessor_(std::move(other.accessor_)),
      peer_(std::move(other.peer_)),
      ours_(std::exchange(other.ours_, false)) {}

PeerAccess::~PeerAccess() {
  if (!ours_ || !accessor_.in_own_process()) return;
  const Driver& driver = accessor_.driver();
  const auto disable = driver.raw(symbol::ctx_disable_peer_access);
  if (disable == nullptr) return;
  const CUresult pushed = driver.raw(symbol::ctx_push_current)(accessor_.handle());
  report_cleanup(driver, pushed, symbol::ctx_push_current.name);
  if (pushed != CUDA_SUCCESS) return;
  report_cleanup(driver, disable(peer_.handle()), symbol::ctx_disable_peer_access.name);
  CUcontext popped = nullptr;
  driver.raw(symbol::ctx_pop_current)(&popped);
}

}  // namespace isthmus

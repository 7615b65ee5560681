#include "transfer/plan/devices.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/peer_access.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {
namespace {

/// Returns     false if it isn't possible: no copy may fail for that
bool let_access(const Context& accessor, const Context& peer) noexcept try {
  PeerAccess(accessor, peer).keep();
  return true;
} catch (const std::exception&) {
  return false;
}

}  // namespace

Devices::Devices(const Driver& driver, const WindowCache& windows, const RingSettings& ring)
    : driver_(driver),
      windows_(windows),
      ring_(ring),
      made_(driver.has_devices() ? static_cast<std::size_t>(driver.device_count()) : 1) {}

DevicePaths& Devices::make(int device) {
  auto& slot = made_.at(static_cast<std::size_t>(device));
  const std::lock_guard lock(mutex_);
  if (DevicePaths* const found = slot.load(std::memory_order_acquire)) return *found;
  owned_.push_back(std::make_unique<DevicePaths>(driver_, device, windows_, ring_));
  slot.store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

std::optional<ContextOfDevice> Devices::context_for(const DevicePaths* device, CUstream stream) {
  if (device == nullptr && stream != nullptr && driver_.has_devices()) {
    CUcontext current = nullptr;
    driver_.call(symbol::ctx_get_current)(&current);
    if (current == nullptr) device = any_made(true);
  }
  if (device == nullptr) return std::nullopt;
  return std::optional<ContextOfDevice>(std::in_place, device->context());
}

Devices::AnyContext Devices::any_context(bool needed) {
  if (!driver_.has_devices()) return {};
  CUcontext current = nullptr;
  driver_.call(symbol::ctx_get_current)(&current);
  if (current != nullptr) return {std::nullopt, true};
  const DevicePaths* const paths = any_made(needed);
  if (paths == nullptr) return {};
  return {std::optional<CurrentContext>(std::in_place, paths->context()), true};
}

/// Paths whose context can be used for questions; null if there are none and none are needed.
const DevicePaths* Devices::any_made(bool needed) {
  for (const auto& slot : made_)
    if (const DevicePaths* const made = slot.load(std::memory_order_acquire)) return made;
  const std::optional<int> device = window::device_in_use(driver_);
  const bool may_be_any = !driver_.has(symbol::primary_ctx_get_state);
  return device || needed || may_be_any ? &at(device.value_or(0)) : nullptr;
}

void Devices::use_profile(std::string_view json) {
  std::string refusals;
  for (int device = 0; device < driver_.device_count(); ++device) {
    DevicePaths& paths = at(device);
    try {
      paths.use(std::make_shared<const Profile>(
          Profile::parse(json, paths.context().device(), driver_.emulated())));
      return;
    } catch (const UsageError& refusal) {
      refusals = refusal.what();
    }
  }
  throw UsageError(refusals.empty() ? "there is no device for a profile" : refusals);
}

void Devices::use_nvrtc(std::string library) {
  const std::lock_guard lock(mutex_);
  nvrtc_ = std::move(library);
}

/// They are loaded in the primary context, so a stream of another one can't launch them.
template <typename Mover>
std::string Devices::obstacle_of(DevicePaths& paths, Mover& mover) {
  CUcontext current = nullptr;
  driver_.call(symbol::ctx_get_current)(&current);
  if (current != paths.context().handle())
    return "the current context isn't the device's primary one";
  std::unique_lock lock(mutex_);
  const std::string nvrtc = nvrtc_;
  lock.unlock();
  return mover.obstacle(nvrtc);
}

template std::string Devices::obstacle_of(DevicePaths& paths, PieceMover& mover);
template std::string Devices::obstacle_of(DevicePaths& paths, BlockMover& mover);

void Devices::join(int one, int other) noexcept try {
  {
    const std::lock_guard lock(mutex_);
    if (joined_.contains(std::minmax(one, other))) return;
  }
  const Context& first = at(one).context();
  const Context& second = at(other).context();
  const ScopedRelaxedCapture relaxed(driver_);
  const bool forth = let_access(first, second);
  const bool back = let_access(second, first);
  const std::lock_guard lock(mutex_);
  joined_.emplace(std::minmax(one, other), forth || back);
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next copy tries it again
}

bool Devices::can_join(int one, int other) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = joined_.find(std::minmax(one, other));
    if (found != joined_.end()) return found->second;
  }
  return can_access_peer(driver_, one, other) || can_access_peer(driver_, other, one);
}

void Devices::trim() {
  const std::lock_guard lock(mutex_);
  for (auto& paths : owned_) paths->trim();
}

void Devices::forget() noexcept {
  for (auto& paths : owned_) {
    [[maybe_unused]] const DevicePaths* const forgotten = paths.release();
  }
}

}  // namespace isthmus::transfer

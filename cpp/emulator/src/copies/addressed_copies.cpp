#include "copies/addressed_copies.hpp"

#include <algorithm>

#include "machine/paces.hpp"

namespace isthmus::emulator {
namespace {

HostKind kind_at(Lock& lock, CUdeviceptr address, std::size_t size_bytes) {
  return host_kind(lock, to_pointer(address), size_bytes);
}

/// What moves the bytes, and how fast.
struct Mover {
  Lane* lane;
  Pace pace;
};

/// True if one of two devices may access the other's memory: its engine then copies directly.
bool is_open(int one, int other) {
  std::array<Device, kMaxDevices>& devices = machine().devices;
  const auto reaches = [&](int from, int to) {
    return devices.at(static_cast<std::size_t>(from))
        .context.peers.at(static_cast<std::size_t>(to));
  };
  return reaches(one, other) || reaches(other, one);
}

int device_at(CUdeviceptr address) { return machine().addresses.covering(address, 1)->device; }

/// By the engine that reads from the link, or the one that writes to it. Without peer access the
/// bytes go through the host's memory, and cross the link twice.
Mover mover_between(Context& context, int target, int source) {
  Device& device = device_of(context);
  const bool up = target == context.ordinal;
  const double share = is_open(target, source) ? 1.0 : 0.5;
  const Pace pace{pinned_pace().latency, pinned_pace().bytes_per_s * share};
  return {up ? &device.host_to_device : &device.device_to_host,
          pace.across(up ? device.upward : device.downward)};
}

Mover mover_of(Lock& lock, Context& context, const AddressedCopy& copy) {
  Device& device = device_of(context);
  const HostKind source = kind_at(lock, copy.source, copy.size_bytes);
  const HostKind target = kind_at(lock, copy.target, copy.size_bytes);
  if (source == HostKind::device && target == HostKind::device) {
    const int to = device_at(copy.target);
    const int from = device_at(copy.source);
    return to == from ? Mover{&device.inside, inside_pace()} : mover_between(context, to, from);
  }
  const bool pageable = source == HostKind::pageable || target == HostKind::pageable;
  const bool up = target == HostKind::device;
  const Pace pace = pageable ? pageable_pace() : pinned_pace();
  return {up ? &device.host_to_device : &device.device_to_host,
          pace.across(up ? device.upward : device.downward)};
}

OperationPtr make_operation(const Mover& mover, const AddressedCopy& copy) {
  auto operation = std::make_shared<Operation>();
  operation->lane = mover.lane;
  operation->expected = mover.pace.latency + mover.pace.time_for(copy.size_bytes);
  operation->work = [copy, pace = mover.pace](Time start) {
    return move_bytes(to_pointer(copy.target), to_pointer(copy.source), copy.size_bytes, pace,
                      start);
  };
  return operation;
}

}  // namespace

OperationPtr make_copy(Lock& lock, Context& context, const AddressedCopy& copy) {
  return make_operation(mover_of(lock, context, copy), copy);
}

void require_copyable(Lock& lock, const AddressedCopy& copy) {
  require(copy.size_bytes > 0 && copy.target != 0 && copy.source != 0);
  for (const CUdeviceptr address : {copy.target, copy.source}) {
    if (kind_at(lock, address, copy.size_bytes) == HostKind::device)
      require_device_range(lock, address, copy.size_bytes);
  }
}

void enqueue_copies(Lock& lock, Context& context, const StreamPtr& stream,
                    const std::vector<AddressedCopy>& copies) {
  bool first = true;
  for (const AddressedCopy& copy : copies) {
    Mover mover = mover_of(lock, context, copy);
    if (!first) mover.pace.latency = kNoTime;
    enqueue(lock, stream, make_operation(mover, copy));
    first = false;
  }
}

}  // namespace isthmus::emulator

// cuMemcpyBatchAsync: many copies with one call.
#include "copies/addressed_copies.hpp"

#include <algorithm>

#include "api/call.hpp"
#include "api/cuda_api.hpp"
#include "machine/machine.hpp"

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

namespace {

/// A call's arrays, checked as far as possible without looking at memory.
struct Batch {
  CUdeviceptr* targets;
  CUdeviceptr* sources;
  std::size_t* sizes;
  std::size_t count;
  CUmemcpyAttributes* attributes;
  std::size_t* attribute_starts;
  std::size_t num_attributes;
};

void require_attributes(const Batch& batch) {
  require(batch.attributes != nullptr && batch.attribute_starts != nullptr);
  require(batch.num_attributes > 0 && batch.num_attributes <= batch.count);
  for (std::size_t i = 0; i < batch.num_attributes; ++i) {
    const std::size_t start = batch.attribute_starts[i];
    require(i == 0 ? start == 0 : start > batch.attribute_starts[i - 1] && start < batch.count);
    const CUmemcpySrcAccessOrder order = batch.attributes[i].srcAccessOrder;
    require(order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
  }
}

std::vector<AddressedCopy> copies_of(Lock& lock, const Batch& batch) {
  std::vector<AddressedCopy> copies;
  for (std::size_t i = 0; i < batch.count; ++i) {
    copies.push_back({batch.targets[i], batch.sources[i], batch.sizes[i]});
    require_copyable(lock, copies.back());
  }
  return copies;
}

CUresult copy_batch(const Batch& batch, CUstream handle) {
  Call call("cuMemcpyBatchAsync");
  call.note("copies", batch.count);
  return call([&] {
    Context& context = current_context();
    require(batch.count > 0);
    require(batch.targets != nullptr && batch.sources != nullptr && batch.sizes != nullptr);
    require_attributes(batch);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    require(stream != context.default_stream);
    call.note("stream", stream->number);
    enqueue_copies(lock, context, stream, copies_of(lock, batch));
    return CUDA_SUCCESS;
  });
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

// CUDA's signatures.
// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr* targets, CUdeviceptr* sources, std::size_t* sizes,
                                    std::size_t count, CUmemcpyAttributes* attributes,
                                    std::size_t* attribute_starts, std::size_t num_attributes,
                                    std::size_t* failed_index, CUstream stream) {
  const CUresult result = copy_batch(
      {targets, sources, sizes, count, attributes, attribute_starts, num_attributes}, stream);
  // SIZE_MAX: this driver doesn't attribute the error to a single copy.
  if (result != CUDA_SUCCESS && failed_index != nullptr) *failed_index = SIZE_MAX;
  return result;
}

// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr* targets, CUdeviceptr* sources,
                                       std::size_t* sizes, std::size_t count,
                                       CUmemcpyAttributes* attributes,
                                       std::size_t* attribute_starts, std::size_t num_attributes,
                                       CUstream stream) {
  return copy_batch({targets, sources, sizes, count, attributes, attribute_starts, num_attributes},
                    stream);
}

}  // extern "C"

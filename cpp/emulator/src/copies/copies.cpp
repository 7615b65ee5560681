// cuMemcpy*: between host and device, with CUDA's rules for pageable memory.
//
// Source: CUDA Driver API, "API synchronization behavior".
#include <memory>

#include "api/call.hpp"
#include "api/context.hpp"
#include "copies/addressed_copies.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

/// The last part of a pageable upload is staged in the call, which then returns. Source: CUDA Driver
/// API, "transfers from pageable host memory ... of 64 KB or less".
constexpr std::size_t kStageBytes = std::size_t{64} * 1024;
/// Asynchronous ones up to this size are staged whole. Measured on an H200 with driver 580.159.04:
/// while its stream is held, one of 2 MiB returns, and one of a byte more waits.
constexpr std::size_t kMostStagedBytes = std::size_t{2} * 1024 * 1024;

enum class Direction { host_to_device, device_to_host };

/// One copy as requested.
struct Copy {
  Direction direction;
  std::byte* target;
  const std::byte* source;
  std::size_t size_bytes;

  const std::byte* host() const { return direction == Direction::host_to_device ? source : target; }
  CUdeviceptr device() const {
    const std::byte* device_side = direction == Direction::host_to_device ? target : source;
    return address_of(device_side);
  }
  AddressedCopy addressed() const { return {address_of(target), address_of(source), size_bytes}; }
};

/// A checked copy, and where it happens.
struct Place {
  Context& context;
  StreamPtr stream;
  HostKind host;
  bool synchronous;  ///< a blocking copy of any kind is complete when the call returns
};

std::string_view name_of(HostKind kind) {
  switch (kind) {
    case HostKind::pinned:
      return "pinned";
    case HostKind::device:
      return "device";
    default:
      return "pageable";
  }
}

Place check(Call& call, Lock& lock, const Copy& copy, CUstream handle) {
  Context& context = current_context();
  lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, handle);
  const HostKind host = host_kind(lock, copy.host(), copy.size_bytes);
  call.note(copy.direction == Direction::host_to_device ? "source" : "target", name_of(host))
      .note("stream", stream->number);
  if (copy.size_bytes > 0) {
    require(copy.host() != nullptr);
    require_device_range(lock, copy.device(), copy.size_bytes);
  }
  const bool synchronous =
      is_synchronous(lock, copy.device()) || is_synchronous(lock, address_of(copy.host()));
  return {context, stream, host, synchronous};
}

OperationPtr make_transfer(const Place& place, const Copy& copy, const Pace& pace) {
  Device& device = device_of(place.context);
  auto operation = std::make_shared<Operation>();
  const bool up = copy.direction == Direction::host_to_device;
  operation->lane = up ? &device.host_to_device : &device.device_to_host;
  operation->expected = pace.latency + pace.time_for(copy.size_bytes);
  operation->work = [copy, pace = pace.across(up ? device.upward : device.downward)](Time start) {
    return move_bytes(copy.target, copy.source, copy.size_bytes, pace, start);
  };
  return operation;
}

void transfer_and_wait(Lock& lock, const Place& place, const Copy& copy, const Pace& pace) {
  const OperationPtr transfer = make_transfer(place, copy, pace);
  enqueue(lock, place.stream, transfer, nullptr, Worker::caller);
  machine().scheduler.wait(lock, transfer);
}

/// Copies the caller's bytes to staging memory, at a pace at which staging and sending together
/// take the time of pageable copies.
std::shared_ptr<std::byte[]> stage(const std::byte* source, std::size_t size_bytes) {
  const Time begin = Clock::now();
  const Duration staging =
      pageable_pace().time_for(size_bytes) - pinned_pace().time_for(size_bytes);
  std::shared_ptr<std::byte[]> staged(new std::byte[size_bytes]);
  copy_now(staged.get(), source, size_bytes);
  count_modelled(staging);
  wait_until(begin + staging);
  return staged;
}

/// Sends the rest of a pageable copy that fits into the staging memory; returns before it has
/// arrived.
OperationPtr send_staged(Lock& lock, const Place& place, const Copy& copy, const Pace& pace) {
  lock.unlock();
  const std::shared_ptr<std::byte[]> staged = stage(copy.source, copy.size_bytes);
  Copy send = copy;
  send.source = staged.get();
  const OperationPtr transfer = make_transfer(place, send, pace);
  transfer->work = [staged, work = std::move(transfer->work)](Time start) { return work(start); };
  lock.lock();
  enqueue(lock, place.stream, transfer);
  return transfer;
}

/// Returns once the source has been read: everything but the last stage has then arrived, or nothing
/// of a copy of up to `whole_bytes`.
OperationPtr send_pageable(Lock& lock, const Place& place, const Copy& copy,
                           std::size_t whole_bytes) {
  const std::size_t first_bytes = copy.size_bytes > whole_bytes ? copy.size_bytes - kStageBytes : 0;
  Pace pace = pinned_pace();
  if (first_bytes > 0) {
    Copy first = copy;
    first.size_bytes = first_bytes;
    transfer_and_wait(lock, place, first, pageable_pace());
    pace.latency = kNoTime;  // the first stage included it
  }
  return send_staged(lock, place,
                     {copy.direction, copy.target + first_bytes, copy.source + first_bytes,
                      copy.size_bytes - first_bytes},
                     pace);
}

CUresult copy_async(const char* symbol, const Copy& copy, CUstream handle) {
  Call call(symbol);
  call.note("bytes", copy.size_bytes);
  return call([&] {
    Lock lock;
    const Place place = check(call, lock, copy, handle);
    if (copy.size_bytes == 0) return CUDA_SUCCESS;
    if (place.host != HostKind::pageable) {
      if (!record_if_captured(lock, place.stream, {copy.addressed(), {}}))
        enqueue(lock, place.stream, make_transfer(place, copy, pinned_pace()));
    } else if (copy.direction == Direction::host_to_device) {
      send_pageable(lock, place, copy, kMostStagedBytes);
    } else {
      transfer_and_wait(lock, place, copy, pageable_pace());
    }
    return CUDA_SUCCESS;
  });
}

CUresult copy_blocking(const char* symbol, const Copy& copy, CUstream handle = nullptr) {
  Call call(symbol);
  call.note("bytes", copy.size_bytes);
  return call([&] {
    Lock lock;
    const Place place = check(call, lock, copy, handle);
    if (copy.size_bytes == 0) return CUDA_SUCCESS;
    if (place.host != HostKind::pageable) {
      transfer_and_wait(lock, place, copy, pinned_pace());
    } else if (copy.direction == Direction::host_to_device) {
      // After all that comes before new work in the stream, which may be another's: the legacy one's.
      const auto turn = std::make_shared<Operation>();
      enqueue(lock, place.stream, turn);
      machine().scheduler.wait(lock, turn);
      const OperationPtr last = send_pageable(lock, place, copy, kStageBytes);
      if (place.synchronous) machine().scheduler.wait(lock, last);
    } else {
      transfer_and_wait(lock, place, copy, pageable_pace());
    }
    return CUDA_SUCCESS;
  });
}

Copy to_device(CUdeviceptr target, const void* source, std::size_t size_bytes) {
  return {Direction::host_to_device, to_pointer(target), static_cast<const std::byte*>(source),
          size_bytes};
}

Copy to_host(void* target, CUdeviceptr source, std::size_t size_bytes) {
  return {Direction::device_to_host, static_cast<std::byte*>(target), to_pointer(source),
          size_bytes};
}

bool is_on_host(CUdeviceptr address) {
  const Lock lock = lock_machine();
  const Range* const range = machine().addresses.covering(address, 1);
  return range == nullptr || range->on_host();
}

using Copying = CUresult (*)(const char*, const Copy&, CUstream);

/// Between any two addresses. From host to host the call does the work.
CUresult copy_anywhere(const char* symbol, const AddressedCopy& copy, CUstream stream,
                       Copying copying) {
  const bool to_host_memory = is_on_host(copy.target);
  const bool from_host_memory = is_on_host(copy.source);
  if (to_host_memory != from_host_memory)
    return copying(symbol,
                   from_host_memory
                       ? to_device(copy.target, to_pointer(copy.source), copy.size_bytes)
                       : to_host(to_pointer(copy.target), copy.source, copy.size_bytes),
                   stream);
  return Call(symbol).note("bytes", copy.size_bytes)([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    require_copyable(lock, copy);
    const OperationPtr operation = make_copy(lock, context, copy);
    enqueue(lock, find_stream(lock, context, stream), operation);
    if (to_host_memory) machine().scheduler.wait(lock, operation);
    return CUDA_SUCCESS;
  });
}

/// The thread's own stream in the place of the legacy default one.
CUstream per_thread(CUstream stream) { return stream == nullptr ? CU_STREAM_PER_THREAD : stream; }

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr target, const void* source, std::size_t size_bytes) {
  return copy_blocking("cuMemcpyHtoD", to_device(target, source, size_bytes));
}

CUresult CUDAAPI cuMemcpyDtoH(void* target, CUdeviceptr source, std::size_t size_bytes) {
  return copy_blocking("cuMemcpyDtoH", to_host(target, source, size_bytes));
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr target, const void* source, std::size_t size_bytes,
                                   CUstream stream) {
  return copy_async("cuMemcpyHtoDAsync", to_device(target, source, size_bytes), stream);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void* target, CUdeviceptr source, std::size_t size_bytes,
                                   CUstream stream) {
  return copy_async("cuMemcpyDtoHAsync", to_host(target, source, size_bytes), stream);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes) {
  return copy_anywhere("cuMemcpy", {target, source, size_bytes}, nullptr, copy_blocking);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes,
                               CUstream stream) {
  return copy_anywhere("cuMemcpyAsync", {target, source, size_bytes}, stream, copy_async);
}

CUresult CUDAAPI cuMemcpy_ptds(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes) {
  return copy_anywhere("cuMemcpy", {target, source, size_bytes}, CU_STREAM_PER_THREAD,
                       copy_blocking);
}

CUresult CUDAAPI cuMemcpyAsync_ptsz(CUdeviceptr target, CUdeviceptr source, std::size_t size_bytes,
                                    CUstream stream) {
  return cuMemcpyAsync(target, source, size_bytes, per_thread(stream));
}

CUresult CUDAAPI cuMemcpyHtoD_v2_ptds(CUdeviceptr target, const void* source,
                                      std::size_t size_bytes) {
  return copy_blocking("cuMemcpyHtoD", to_device(target, source, size_bytes), CU_STREAM_PER_THREAD);
}

CUresult CUDAAPI cuMemcpyDtoH_v2_ptds(void* target, CUdeviceptr source, std::size_t size_bytes) {
  return copy_blocking("cuMemcpyDtoH", to_host(target, source, size_bytes), CU_STREAM_PER_THREAD);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr target, const void* source,
                                           std::size_t size_bytes, CUstream stream) {
  return cuMemcpyHtoDAsync(target, source, size_bytes, per_thread(stream));
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2_ptsz(void* target, CUdeviceptr source, std::size_t size_bytes,
                                           CUstream stream) {
  return cuMemcpyDtoHAsync(target, source, size_bytes, per_thread(stream));
}

}  // extern "C"

// cuMemPrefetchAsync and its batches, cuMemAdvise, cuMemRangeGetAttribute: the location of managed
// memory. Here it is host memory and never moves; a prefetch takes the modelled time of its bytes,
// and what is discarded first has none to move.
#include <cstring>
#include <vector>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/link.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

/// Throws Refusal(INVALID_VALUE) unless all of it is managed memory.
Range& managed_range(Lock& lock, CUdeviceptr address, std::size_t size_bytes) {
  (void)lock;
  AddressMap& addresses = machine().addresses;
  require(size_bytes > 0 && addresses.covering(address, size_bytes) != nullptr);
  Range& range = *addresses.find(address);
  require(range.kind == RangeKind::managed);
  return range;
}

/// A location as attributes report it. Throws Refusal: INVALID_DEVICE, INVALID_VALUE.
int place_of(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_HOST) return CU_DEVICE_CPU;
  require(location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  device_at(location.id);
  return location.id;
}

/// The new location if the whole range moved; otherwise it has no single location.
int place_after(const Range& range, std::size_t size_bytes, int place) {
  return size_bytes == range.size_bytes ? place : CU_DEVICE_INVALID;
}

OperationPtr make_migration(Context& context, std::size_t size_bytes, int place) {
  const Profile& profile = machine().profile();
  const Pace pace{profile.copy_latency, profile.pinned_bytes_per_s};
  Device& device = device_of(context);
  auto operation = std::make_shared<Operation>();
  operation->lane = place == CU_DEVICE_CPU ? &device.device_to_host : &device.host_to_device;
  operation->expected = pace.latency + pace.time_for(size_bytes);
  operation->work = [expected = operation->expected](Time start) {
    wait_until(start + expected);
    return start + expected;
  };
  return operation;
}

/// The operands of a batch, one for each range.
struct Batch {
  CUdeviceptr* addresses;
  std::size_t* sizes_bytes;
  std::size_t count;
  CUmemLocation* locations;
  std::size_t* first_of_location;
  std::size_t num_locations;
  unsigned long long flags;

  /// Throws Refusal(INVALID_VALUE).
  void require_sense() const {
    require(addresses != nullptr && sizes_bytes != nullptr && count > 0 && flags == 0);
    require(locations != nullptr && first_of_location != nullptr);
    require(num_locations > 0 && num_locations <= count && first_of_location[0] == 0);
    for (std::size_t i = 1; i < num_locations; ++i)
      require(first_of_location[i] > first_of_location[i - 1] && first_of_location[i] < count);
  }
  const CUmemLocation& location_of(std::size_t index) const {
    std::size_t found = 0;
    while (found + 1 < num_locations && first_of_location[found + 1] <= index) ++found;
    return locations[found];
  }
};

/// What is discarded has other bytes when its turn in the stream has come: drivers leave open which.
OperationPtr discarding(OperationPtr operation, CUdeviceptr address, std::size_t size_bytes) {
  constexpr int indeterminate = 0xDD;
  operation->work = [work = std::move(operation->work), address, size_bytes](Time start) {
    std::memset(reinterpret_cast<void*>(address), indeterminate, size_bytes);
    return work(start);
  };
  return operation;
}

CUresult prefetch_batch(Call& call, const Batch& batch, CUstream handle, bool moves) {
  Context& context = current_context();
  batch.require_sense();
  require(handle != nullptr && handle != CU_STREAM_LEGACY);
  call.note("ranges", batch.count);
  Lock lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, handle);
  call.note("stream", stream->number);
  std::vector<OperationPtr> migrations;
  for (std::size_t i = 0; i < batch.count; ++i) {
    managed_range(lock, batch.addresses[i], batch.sizes_bytes[i]);
    const std::size_t moved_bytes = moves ? batch.sizes_bytes[i] : 0;
    OperationPtr one = make_migration(context, moved_bytes, place_of(batch.location_of(i)));
    if (!moves) one = discarding(std::move(one), batch.addresses[i], batch.sizes_bytes[i]);
    migrations.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < batch.count; ++i) {
    Range& range = managed_range(lock, batch.addresses[i], batch.sizes_bytes[i]);
    range.prefetched_to = place_after(range, batch.sizes_bytes[i], place_of(batch.location_of(i)));
    enqueue(lock, stream, migrations[i]);
  }
  return CUDA_SUCCESS;
}

/// Nothing has begun if one operand is refused. The legacy stream is refused, as drivers do.
///
/// moves       false: the contents were discarded
CUresult called(const char* name, const Batch& batch, CUstream handle, bool moves) {
  Call call(name);
  return call([&] { return prefetch_batch(call, batch, handle, moves); });
}

void advise(Range& range, std::size_t size_bytes, CUmem_advise advice,
            const CUmemLocation& location) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      range.preferred_location = place_after(range, size_bytes, place_of(location));
      return;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      range.preferred_location = CU_DEVICE_INVALID;
      return;
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      place_of(location);
      return;
    default:
      require(advice == CU_MEM_ADVISE_SET_READ_MOSTLY || advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY);
  }
}

int attribute_of(const Range& range, CUmem_range_attribute attribute) {
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION) return range.prefetched_to;
  require(attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION);
  return range.preferred_location;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr address, std::size_t size_bytes,
                                    CUmemLocation location, unsigned int flags, CUstream handle) {
  Call call("cuMemPrefetchAsync");
  call.note("bytes", size_bytes);
  return call([&] {
    Context& context = current_context();
    require(flags == 0);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    Range& range = managed_range(lock, address, size_bytes);
    const int place = place_of(location);
    call.note("stream", stream->number);
    range.prefetched_to = place_after(range, size_bytes, place);
    enqueue(lock, stream, make_migration(context, size_bytes, place));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr* addresses, std::size_t* sizes_bytes,
                                         std::size_t count, CUmemLocation* locations,
                                         std::size_t* first_of_location, std::size_t num_locations,
                                         unsigned long long flags, CUstream handle) {
  return called("cuMemPrefetchBatchAsync",
                {addresses, sizes_bytes, count, locations, first_of_location, num_locations, flags},
                handle, true);
}

CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, std::size_t* sizes_bytes,
                                                   std::size_t count, CUmemLocation* locations,
                                                   std::size_t* first_of_location,
                                                   std::size_t num_locations,
                                                   unsigned long long flags, CUstream handle) {
  return called("cuMemDiscardAndPrefetchBatchAsync",
                {addresses, sizes_bytes, count, locations, first_of_location, num_locations, flags},
                handle, false);
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr address, std::size_t size_bytes, CUmem_advise advice,
                             CUmemLocation location) {
  return Call("cuMemAdvise").note("bytes", size_bytes)([&] {
    current_context();
    Lock lock = lock_machine();
    advise(managed_range(lock, address, size_bytes), size_bytes, advice, location);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRangeGetAttribute(void* data, std::size_t data_bytes,
                                        CUmem_range_attribute attribute, CUdeviceptr address,
                                        std::size_t size_bytes) {
  return Call("cuMemRangeGetAttribute")([&] {
    current_context();
    require(data != nullptr && data_bytes == sizeof(int));
    Lock lock = lock_machine();
    const int value = attribute_of(managed_range(lock, address, size_bytes), attribute);
    std::memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"

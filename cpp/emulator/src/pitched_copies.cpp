// cuMemcpy2DAsync: rows between pinned and device memory.
//
// Source: CUDA Driver API 13.0, cuMemcpy2DAsync.
#include <limits>

#include "call.hpp"
#include "context.hpp"
#include "link.hpp"
#include "machine.hpp"
#include "memory.hpp"

namespace isthmus::emulator {
namespace {

/// What real devices answer for CU_DEVICE_ATTRIBUTE_MAX_PITCH.
constexpr std::size_t kMaxPitchBytes = std::numeric_limits<std::int32_t>::max();

/// One side of a copy: where its first row begins, and how far apart the rows are.
struct Side {
  CUdeviceptr begin;
  std::size_t pitch_bytes;
  CUmemorytype memory;
};

struct Rows {
  Side target;
  Side source;
  std::size_t width_bytes;
  std::size_t num_rows;

  std::size_t size_bytes() const { return width_bytes * num_rows; }
};

Side side(CUmemorytype memory, CUdeviceptr base, std::size_t pitch_bytes, std::size_t x_bytes,
          std::size_t y) {
  return {base + y * pitch_bytes + x_bytes, pitch_bytes, memory};
}

CUdeviceptr base_of(CUmemorytype memory, const void* host, CUdeviceptr device) {
  return memory == CU_MEMORYTYPE_HOST ? address_of(host) : device;
}

/// A pitch of 0 says that rows follow each other.
std::size_t pitch_of(std::size_t pitch_bytes, const CUDA_MEMCPY2D& copy, std::size_t x_bytes) {
  if (pitch_bytes == 0) return copy.WidthInBytes;
  require(pitch_bytes >= copy.WidthInBytes + x_bytes && pitch_bytes <= kMaxPitchBytes);
  return pitch_bytes;
}

Rows rows_of(const CUDA_MEMCPY2D& copy) {
  const Side source =
      side(copy.srcMemoryType, base_of(copy.srcMemoryType, copy.srcHost, copy.srcDevice),
           pitch_of(copy.srcPitch, copy, copy.srcXInBytes), copy.srcXInBytes, copy.srcY);
  const Side target =
      side(copy.dstMemoryType, base_of(copy.dstMemoryType, copy.dstHost, copy.dstDevice),
           pitch_of(copy.dstPitch, copy, copy.dstXInBytes), copy.dstXInBytes, copy.dstY);
  return {target, source, copy.WidthInBytes, copy.Height};
}

/// Throws Refusal: INVALID_VALUE for memory that isn't what it is said to be, NOT_SUPPORTED for
/// pageable memory, which isn't emulated here.
void require_side(Lock& lock, const Side& side, const Rows& rows) {
  const std::size_t extent_bytes = (rows.num_rows - 1) * side.pitch_bytes + rows.width_bytes;
  const bool device = side.memory == CU_MEMORYTYPE_DEVICE || side.memory == CU_MEMORYTYPE_UNIFIED;
  require(device || side.memory == CU_MEMORYTYPE_HOST);
  const HostKind kind = host_kind(lock, to_pointer(side.begin), extent_bytes);
  require(kind != HostKind::pageable || device, CUDA_ERROR_NOT_SUPPORTED);
  require_device_range(lock, side.begin, extent_bytes);
}

Lane& lane_for(Device& device, const Rows& rows) {
  const bool from_host = rows.source.memory == CU_MEMORYTYPE_HOST;
  const bool to_host = rows.target.memory == CU_MEMORYTYPE_HOST;
  require(from_host != to_host, CUDA_ERROR_NOT_SUPPORTED);
  return from_host ? device.host_to_device : device.device_to_host;
}

/// All rows are moved at once, and the time that their bytes take is waited for then.
Time move_rows(const Rows& rows, const Pace& pace, Time start) {
  const Time begin = Clock::now();
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    copy_now(to_pointer(rows.target.begin + row * rows.target.pitch_bytes),
             to_pointer(rows.source.begin + row * rows.source.pitch_bytes), rows.width_bytes);
  }
  const Duration really_spent = Clock::now() - begin;
  const Time end = start + pace.latency + std::max(pace.time_for(rows.size_bytes()), really_spent);
  wait_until(end);
  return end;
}

OperationPtr make_transfer(Context& context, const Rows& rows) {
  const Profile& profile = machine().profile();
  const Pace pace{profile.copy_latency, profile.pinned_bytes_per_s};
  auto operation = std::make_shared<Operation>();
  operation->lane = &lane_for(device_of(context), rows);
  operation->expected = pace.latency + pace.time_for(rows.size_bytes());
  operation->work = [rows, pace](Time start) { return move_rows(rows, pace, start); };
  return operation;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream handle) {
  Call call("cuMemcpy2DAsync");
  return call([&] {
    Context& context = current_context();
    require(copy != nullptr);
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    const Rows rows = rows_of(*copy);
    call.note("bytes", rows.size_bytes())
        .note("rows", rows.num_rows)
        .note("stream", stream->number);
    if (rows.size_bytes() == 0) return CUDA_SUCCESS;
    require_side(lock, rows.source, rows);
    require_side(lock, rows.target, rows);
    enqueue(lock, stream, make_transfer(context, rows));
    return CUDA_SUCCESS;
  });
}

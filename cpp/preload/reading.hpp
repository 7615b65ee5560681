// What a call is about, read from its arguments.
#pragma once

#include "preload/entries.hpp"

namespace isthmus::preload {

/// A call's ends, bytes and stream.
struct What {
  Kind source = kNone;
  Kind target = kNone;
  bool linear = false;                             ///< one range of bytes between `from` and `to`
  void (*after)(const What&, CUresult) = nullptr;  ///< told what the driver's call has returned
  u64 bytes = 0;
  u64 items = 1;
  const void* from = nullptr;
  void* to = nullptr;
  CUstream stream = nullptr;
};

/// What the driver says of an address; host memory that it doesn't know is pageable.
Kind kind_of(const void* pointer);
inline Kind kind_of(CUdeviceptr pointer) { return kind_of(reinterpret_cast<void*>(pointer)); }

/// The same, asked anew.
Kind kind_now(const void* pointer);

void capture_begun(const What& what, CUresult result);
void capture_ended(const What& what, CUresult result);
void stream_destroyed(const What& what, CUresult result);
void device_reset(const What& what, CUresult result);
/// Kinds of memory that were asked for no longer hold.
void forget_kinds(const What& what, CUresult result);

namespace reading {

inline What line(void* to, Kind target, const void* from, Kind source, u64 bytes, CUstream stream) {
  return {.source = source,
          .target = target,
          .linear = true,
          .bytes = bytes,
          .from = from,
          .to = to,
          .stream = stream};
}
inline void* address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

inline What any(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream = nullptr) {
  return line(address(to), kind_of(to), address(from), kind_of(from), bytes, stream);
}
inline What up(CUdeviceptr to, const void* from, size_t bytes, CUstream stream = nullptr) {
  return line(address(to), kDevice, from, kind_of(from), bytes, stream);
}
inline What down(void* to, CUdeviceptr from, size_t bytes, CUstream stream = nullptr) {
  return line(to, kind_of(to), address(from), kDevice, bytes, stream);
}
inline What ends(Kind source, Kind target, u64 bytes, CUstream stream = nullptr) {
  return {.source = source, .target = target, .bytes = bytes, .stream = stream};
}
inline What inside(CUdeviceptr, CUdeviceptr, size_t bytes, CUstream stream = nullptr) {
  return ends(kDevice, kDevice, bytes, stream);
}
inline What peer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t bytes,
                 CUstream stream = nullptr) {
  return ends(kDevice, kDevice, bytes, stream);
}

inline What array(CUarray, size_t, CUdeviceptr, size_t bytes) {
  return ends(kDevice, kArray, bytes);
}
inline What array(CUdeviceptr, CUarray, size_t, size_t bytes) {
  return ends(kArray, kDevice, bytes);
}
inline What array(CUarray, size_t, const void* from, size_t bytes, CUstream stream = nullptr) {
  return ends(kind_of(from), kArray, bytes, stream);
}
inline What array(void* to, CUarray, size_t, size_t bytes, CUstream stream = nullptr) {
  return ends(kArray, kind_of(to), bytes, stream);
}
inline What array(CUarray, size_t, CUarray, size_t, size_t bytes) {
  return ends(kArray, kArray, bytes);
}

inline Kind end_of(CUmemorytype type, const void* host, CUdeviceptr device) {
  if (type == CU_MEMORYTYPE_HOST) return kind_of(host);
  if (type == CU_MEMORYTYPE_ARRAY) return kArray;
  return type == CU_MEMORYTYPE_DEVICE ? kDevice : kind_of(device);
}
inline u64 rows_of(const CUDA_MEMCPY2D& copy) { return copy.Height; }
template <typename Box>
u64 rows_of(const Box& copy) {
  return copy.Height * copy.Depth;
}
template <typename Shape>
What shaped(const Shape* copy, CUstream stream = nullptr) {
  if (copy == nullptr) return {};
  return ends(end_of(copy->srcMemoryType, copy->srcHost, copy->srcDevice),
              end_of(copy->dstMemoryType, copy->dstHost, copy->dstDevice),
              copy->WidthInBytes * rows_of(*copy), stream);
}

/// By its first copy's ends.
inline What batch(const CUdeviceptr* to, const CUdeviceptr* from, const size_t* bytes, size_t count,
                  CUstream stream) {
  if (count == 0 || to == nullptr || from == nullptr || bytes == nullptr) return {};
  What what = ends(kind_of(from[0]), kind_of(to[0]), 0, stream);
  what.items = count;
  for (size_t i = 0; i < count; ++i) what.bytes += bytes[i];
  return what;
}
// CUDA's signature.
// NOLINTNEXTLINE(readability-function-size)
inline What batch(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                  CUmemcpyAttributes*, size_t*, size_t, size_t*, CUstream stream) {
  return batch(to, from, bytes, count, stream);
}
inline What batch(CUdeviceptr* to, CUdeviceptr* from, size_t* bytes, size_t count,
                  CUmemcpyAttributes*, size_t*, size_t, CUstream stream) {
  return batch(to, from, bytes, count, stream);
}
/// Where an end is an array, elements are counted, not bytes.
inline What batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long,
                  CUstream stream) {
  if (count == 0 || copies == nullptr) return {};
  const auto end = [](const CUmemcpy3DOperand& one) {
    return one.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? kArray : kind_of(one.op.ptr.ptr);
  };
  What what = ends(end(copies[0].src), end(copies[0].dst), 0, stream);
  what.items = count;
  for (size_t i = 0; i < count; ++i)
    what.bytes += copies[i].extent.width * copies[i].extent.height * copies[i].extent.depth;
  return what;
}
inline What batch(size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t*, unsigned long long flags,
                  CUstream stream) {
  return batch(count, copies, flags, stream);
}

inline What attributed(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes*,
                       CUstream stream) {
  return ends(kind_of(from), kind_of(to), bytes, stream);
}
inline What attributed(CUDA_MEMCPY3D_BATCH_OP* copy, unsigned long long flags, CUstream stream) {
  return batch(1, copy, flags, stream);
}

inline What bytes_of(u64 bytes, void* to = nullptr) {
  return {.after = forget_kinds, .bytes = bytes, .to = to};
}
template <typename... Rest>
What memory(CUdeviceptr*, size_t bytes, Rest...) {
  return bytes_of(bytes);
}
template <typename... Rest>
What memory(CUdeviceptr, size_t bytes, Rest...) {
  return bytes_of(bytes);
}
inline What memory(CUdeviceptr*, size_t*, size_t width, size_t height, unsigned) {
  return bytes_of(width * height);
}
inline What memory(CUdeviceptr, CUstream = nullptr) { return bytes_of(0); }
/// Memory that a pool may give has a place in `to`; memory to give back is there.
inline What pinned(void** memory, size_t bytes, unsigned flags = 0) {
  constexpr unsigned of_all_pinned = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  return bytes_of(bytes, (flags & ~of_all_pinned) == 0 ? static_cast<void*>(memory) : nullptr);
}
inline What pinned(void*, size_t bytes, unsigned) { return bytes_of(bytes); }
inline What pinned(void* memory) { return bytes_of(0, memory); }

inline What wait(CUstream stream) { return ends(kNone, kNone, 0, stream); }
inline What wait(CUevent) { return {}; }
inline What wait(CUcontext) { return {}; }
inline What wait() { return {}; }
inline What none() { return {}; }  // never called: launches and resolvers

inline What then(void (*after)(const What&, CUresult), CUstream stream = nullptr) {
  return {.after = after, .stream = stream};
}
template <typename... Arguments>
What begins_capture(CUstream stream, Arguments...) {
  return then(capture_begun, stream);
}
template <typename... Arguments>
What ends_capture(CUstream stream, Arguments...) {
  return then(capture_ended, stream);
}
inline What destroys_stream(CUstream stream) { return then(stream_destroyed, stream); }
inline What resets(CUdevice) { return then(device_reset); }
inline What frees(CUcontext) { return then(forget_kinds); }
inline What frees(CUdevice) { return then(forget_kinds); }

}  // namespace reading
}  // namespace isthmus::preload

// A memory resource over a PinnedPool, in the form of CCCL's cuda::mr. Includes no CUDA header.
//
//     using Resource = isthmus::PinnedResource<cuda::mr::host_accessible,
//                                              cuda::mr::device_accessible>;
//     static_assert(cuda::mr::resource_with<Resource, cuda::mr::host_accessible>);
//
// What the concepts require, and where it is:
//   synchronous    CCCL 3.1+: allocate_sync, deallocate_sync; before: allocate, deallocate
//   in a stream    CCCL 3.1+: allocate(stream, ...), deallocate(stream, ...);
//                  before: allocate_async, deallocate_async, with the stream last
//   equality       resources over the same pool are equal: each may free the other's memory
//   properties     get_property(resource, Property) exists for each type in `Properties`. They are
//                  only tags; the caller, who includes CCCL, names them
// Also fits RMM's host memory interfaces of the same names.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <isthmus/pinned.hpp>

struct CUstream_st;

namespace isthmus {

/// Something that names a stream: cudaStream_t itself, cuda::stream_ref (get), or
/// rmm::cuda_stream_view (value).
template <typename Stream>
concept StreamLike = std::convertible_to<Stream, CUstream_st*> || requires(const Stream& stream) {
  { stream.get() } -> std::convertible_to<CUstream_st*>;
} || requires(const Stream& stream) {
  { stream.value() } -> std::convertible_to<CUstream_st*>;
};

/// The stream's handle, as PinnedPool takes it.
template <StreamLike Stream>
std::uintptr_t stream_handle(const Stream& stream) {
  CUstream_st* handle = nullptr;
  if constexpr (requires {
                  { stream.get() } -> std::convertible_to<CUstream_st*>;
                }) {
    handle = stream.get();
  } else if constexpr (requires {
                         { stream.value() } -> std::convertible_to<CUstream_st*>;
                       }) {
    handle = stream.value();
  } else {
    handle = stream;
  }
  return reinterpret_cast<std::uintptr_t>(handle);
}

/// Pinned memory that host and device can use, in CCCL's terms. A value: copies share the pool.
/// Throws what PinnedPool throws. Alignments: powers of two up to 2 MiB.
template <typename... Properties>
class PinnedResource {
public:
  static constexpr std::size_t kDefaultAlignmentBytes = 64;

  explicit PinnedResource(PinnedPool pool) : pool_(std::move(pool)) {}

  void* allocate_sync(std::size_t size_bytes,
                      std::size_t alignment_bytes = kDefaultAlignmentBytes) {
    return pool_.allocate(size_bytes, PinnedPool::kNoStream, alignment_bytes);
  }
  void deallocate_sync(void* memory, std::size_t /*size_bytes*/,
                       std::size_t /*alignment_bytes*/ = kDefaultAlignmentBytes) noexcept {
    pool_.free(memory);
  }

  template <StreamLike Stream>
  void* allocate(const Stream& stream, std::size_t size_bytes,
                 std::size_t alignment_bytes = kDefaultAlignmentBytes) {
    return pool_.allocate(size_bytes, stream_handle(stream), alignment_bytes);
  }
  template <StreamLike Stream>
  void deallocate(const Stream& stream, void* memory, std::size_t /*size_bytes*/,
                  std::size_t /*alignment_bytes*/ = kDefaultAlignmentBytes) noexcept {
    pool_.free(memory, stream_handle(stream));
  }

  // The same under CCCL's names before 3.1.
  void* allocate(std::size_t size_bytes, std::size_t alignment_bytes = kDefaultAlignmentBytes) {
    return allocate_sync(size_bytes, alignment_bytes);
  }
  void deallocate(void* memory, std::size_t size_bytes,
                  std::size_t alignment_bytes = kDefaultAlignmentBytes) noexcept {
    deallocate_sync(memory, size_bytes, alignment_bytes);
  }
  template <StreamLike Stream>
  void* allocate_async(std::size_t size_bytes, std::size_t alignment_bytes, const Stream& stream) {
    return allocate(stream, size_bytes, alignment_bytes);
  }
  template <StreamLike Stream>
  void* allocate_async(std::size_t size_bytes, const Stream& stream) {
    return allocate(stream, size_bytes);
  }
  template <StreamLike Stream>
  void deallocate_async(void* memory, std::size_t size_bytes, std::size_t alignment_bytes,
                        const Stream& stream) noexcept {
    deallocate(stream, memory, size_bytes, alignment_bytes);
  }
  template <StreamLike Stream>
  void deallocate_async(void* memory, std::size_t size_bytes, const Stream& stream) noexcept {
    deallocate(stream, memory, size_bytes);
  }

  const PinnedPool& pool() const noexcept { return pool_; }

  friend bool operator==(const PinnedResource& a, const PinnedResource& b) noexcept {
    return a.pool_.same_pool(b.pool_);
  }
  template <typename Property>
    requires(std::same_as<Property, Properties> || ...)
  friend constexpr void get_property(const PinnedResource& /*resource*/,
                                     Property /*property*/) noexcept {}

private:
  PinnedPool pool_;
};

}  // namespace isthmus

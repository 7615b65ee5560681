// The pool as a memory resource of CCCL's and RMM's form.
#include <isthmus/pinned_resource.hpp>

#include "transfer/pinned_memory_under_test.hpp"

#if __has_include(<cuda/memory_resource>)
#include <cuda/memory_resource>
#endif

namespace isthmus::transfer {
namespace {

struct HostProperty {};
struct DeviceProperty {};
struct OtherProperty {};
using Resource = PinnedResource<HostProperty, DeviceProperty>;

template <typename Of, typename Property>
concept HasProperty =
    requires(const Of& resource, Property property) { get_property(resource, property); };
static_assert(HasProperty<Resource, HostProperty> && HasProperty<Resource, DeviceProperty>);
static_assert(!HasProperty<Resource, OtherProperty>);
static_assert(!HasProperty<PinnedResource<>, HostProperty>);
static_assert(std::equality_comparable<Resource> && std::copyable<Resource>);

struct StreamRef {
  CUstream_st* handle = nullptr;
  CUstream_st* get() const { return handle; }
};
struct StreamView {
  CUstream_st* handle = nullptr;
  CUstream_st* value() const { return handle; }
};
static_assert(StreamLike<CUstream> && StreamLike<StreamRef> && StreamLike<StreamView>);
static_assert(!StreamLike<std::size_t>);

#if __has_include(<cuda/memory_resource>)
using CudaResource = PinnedResource<::cuda::mr::host_accessible, ::cuda::mr::device_accessible>;
static_assert(::cuda::mr::resource_with<CudaResource, ::cuda::mr::host_accessible,
                                        ::cuda::mr::device_accessible>);
#endif

class ResourceTest : public PinnedMemoryUnderTest {};

TEST_F(ResourceTest, GivesAlignedMemoryAndTakesItBack) {
  PinnedPool memory = pool();
  Resource resource(memory);
  for (const std::size_t alignment : {8U, 256U, 4096U}) {
    void* block = resource.allocate_sync(100, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
    resource.deallocate_sync(block, 100, alignment);
    void* older = resource.allocate(100, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(older) % alignment, 0u);
    resource.deallocate(older, 100, alignment);
  }
  EXPECT_EQ(memory.stats().used_bytes, 0u);
  EXPECT_EQ(memory.stats().pending_bytes, 0u);
}

TEST_F(ResourceTest, FreesInTheStreamsOrderWhateverTheStreamsType) {
  PinnedPool memory = pool();
  Resource resource(memory);
  const CUstream work = stream();
  contract::Gate closed = gate();
  closed.hold(work);
  void* block = resource.allocate(work, 1000, 256);
  resource.deallocate(StreamRef{work}, block, 1000, 256);
  EXPECT_EQ(memory.stats().pending_bytes, 1024u);
  EXPECT_EQ(resource.allocate_async(1000, 256, StreamView{work}), block);
  resource.deallocate_async(block, 1000, 256, work);
  EXPECT_EQ(memory.stats().pending_bytes, 1024u);
}

TEST_F(ResourceTest, IsEqualToThoseOverTheSamePool) {
  const Resource first(pool());
  const Resource second(first.pool());
  EXPECT_EQ(first, second);
  EXPECT_NE(first, Resource(pool()));
}

}  // namespace
}  // namespace isthmus::transfer

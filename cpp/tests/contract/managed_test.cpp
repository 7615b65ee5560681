// Advice and prefetches for managed memory, and stream-ordered memory.
#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class PrefetchedMemory : public MachineUnderTest {
protected:
  void SetUp() override {
    MachineUnderTest::SetUp();
    if (IsSkipped()) return;
    int concurrent = 0;
    driver().call(symbol::device_get_attribute)(
        &concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, CUdevice{0});
    if (concurrent == 0) GTEST_SKIP() << "the device takes no prefetches";
  }

  static CUmemLocation host() {
    CUmemLocation place{};
    place.type = CU_MEM_LOCATION_TYPE_HOST;
    return place;
  }
  static CUmemLocation device(int ordinal = 0) {
    CUmemLocation place{};
    place.type = CU_MEM_LOCATION_TYPE_DEVICE;
    place.id = ordinal;
    return place;
  }

  int range_attribute(CUmem_range_attribute which, CUdeviceptr address, std::size_t size_bytes) {
    int value = 0;
    driver().call(symbol::mem_range_get_attribute)(static_cast<void*>(&value), sizeof value, which,
                                                   address, size_bytes);
    return value;
  }
};

TEST_F(PrefetchedMemory, KeepsItsBytesWhenItIsPrefetchedThereAndBack) {
  const CUdeviceptr memory = managed_memory(kMiB);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(memory);
  const Bytes sent = pattern(kMiB, 1);
  std::copy(sent.begin(), sent.end(), bytes);
  const CUstream work = stream();
  driver().call(symbol::mem_prefetch_async)(memory, kMiB, device(), 0u, work);
  synchronize(work);
  EXPECT_EQ(on_device(memory, kMiB), sent);
  driver().call(symbol::mem_prefetch_async)(memory, kMiB, host(), 0u, work);
  synchronize(work);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), bytes));
}

TEST_F(PrefetchedMemory, SaysWhereAllOfItWasLastPrefetchedTo) {
  constexpr auto kLast = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION;
  const CUdeviceptr memory = managed_memory(kMiB);
  EXPECT_EQ(range_attribute(kLast, memory, kMiB), CU_DEVICE_INVALID);
  const CUstream work = stream();
  driver().call(symbol::mem_prefetch_async)(memory, kMiB, device(), 0u, work);
  EXPECT_EQ(range_attribute(kLast, memory, kMiB), 0);
  driver().call(symbol::mem_prefetch_async)(memory, kMiB, host(), 0u, work);
  EXPECT_EQ(range_attribute(kLast, memory, kMiB), CU_DEVICE_CPU);
  synchronize(work);
}

/// The operands of a batch with one location.
struct Ranges {
  std::vector<CUdeviceptr> addresses;
  std::vector<std::size_t> sizes_bytes;
  std::size_t first = 0;

  template <typename Prefetch>
  auto to(CUmemLocation location, Prefetch prefetch, CUstream on) {
    return prefetch(addresses.data(), sizes_bytes.data(), addresses.size(), &location, &first,
                    std::size_t{1}, 0ULL, on);
  }
};

TEST_F(PrefetchedMemory, KeepsItsBytesWhenManyRangesArePrefetchedAtOnce) {
  if (!driver().has(symbol::mem_prefetch_batch_async)) GTEST_SKIP() << "a driver before CUDA 13";
  const CUdeviceptr memory = managed_memory(kMiB);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(memory);
  const Bytes sent = pattern(kMiB, 1);
  std::copy(sent.begin(), sent.end(), bytes);
  const CUstream work = stream();
  Ranges ranges{{memory, memory + kMiB / 2}, {kMiB / 4, kMiB / 2}};
  ranges.to(device(), driver().call(symbol::mem_prefetch_batch_async), work);
  synchronize(work);
  EXPECT_EQ(on_device(memory, kMiB), sent);
}

TEST_F(PrefetchedMemory, HoldsWhatIsStoredAfterItWasDiscarded) {
  if (!driver().has(symbol::mem_discard_and_prefetch_batch_async))
    GTEST_SKIP() << "a driver before CUDA 13";
  const CUdeviceptr memory = managed_memory(kMiB);
  std::fill_n(reinterpret_cast<std::uint8_t*>(memory), kMiB, std::uint8_t{1});
  const CUstream work = stream();
  Ranges half{{memory}, {kMiB / 2}};
  half.to(device(), driver().call(symbol::mem_discard_and_prefetch_batch_async), work);
  driver().call(symbol::memset_d8_async)(memory, static_cast<unsigned char>(7), kMiB / 2, work);
  synchronize(work);
  Bytes expected(kMiB, 1);
  std::fill_n(expected.begin(), kMiB / 2, std::uint8_t{7});
  EXPECT_EQ(on_device(memory, kMiB), expected);
}

TEST_F(PrefetchedMemory, RefusesABatchThatHasARangeWhichIsNotManaged) {
  if (!driver().has(symbol::mem_prefetch_batch_async)) GTEST_SKIP() << "a driver before CUDA 13";
  Ranges ranges{{managed_memory(kMiB), device_memory(kMiB)}, {kMiB, kMiB}};
  EXPECT_EQ(ranges.to(device(), driver().raw(symbol::mem_prefetch_batch_async), stream()),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PrefetchedMemory, TakesAdviceAboutItsPreferredLocation) {
  constexpr auto kPreferred = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
  const CUdeviceptr memory = managed_memory(kMiB);
  EXPECT_EQ(range_attribute(kPreferred, memory, kMiB), CU_DEVICE_INVALID);
  const auto advise = driver().call(symbol::mem_advise);
  advise(memory, kMiB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host());
  advise(memory, kMiB, CU_MEM_ADVISE_SET_ACCESSED_BY, device());
  EXPECT_EQ(range_attribute(kPreferred, memory, kMiB), CU_DEVICE_CPU);
}

TEST_F(PrefetchedMemory, IsNotWhatCuMemAllocGives) {
  const CUdeviceptr memory = device_memory(kMiB);
  EXPECT_EQ(driver().raw(symbol::mem_prefetch_async)(memory, kMiB, device(), 0u, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PrefetchedMemory, IsNotPrefetchedToADeviceThatIsNotThere) {
  const CUdeviceptr memory = managed_memory(kMiB);
  EXPECT_EQ(driver().raw(symbol::mem_prefetch_async)(memory, kMiB, device(1000), 0u, nullptr),
            CUDA_ERROR_INVALID_DEVICE);
}

class StreamOrderedMemory : public MachineUnderTest {
protected:
  CUdeviceptr allocate(std::size_t size_bytes, CUstream on) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc_async)(&address, size_bytes, on);
    return address;
  }
};

TEST_F(StreamOrderedMemory, HoldsWhatItsStreamCopiesThere) {
  const CUstream work = stream();
  const CUdeviceptr memory = allocate(kMiB, work);
  const Bytes sent = pattern(kMiB, 2);
  driver().call(symbol::memcpy_htod_async)(memory, sent.data(), kMiB, work);
  synchronize(work);
  EXPECT_EQ(on_device(memory, kMiB), sent);
  driver().call(symbol::mem_free_async)(memory, work);
  synchronize(work);
}

TEST_F(StreamOrderedMemory, IsFreedBehindTheWorkOfItsStreamWithoutWaitingForIt) {
  const CUstream work = stream();
  const CUdeviceptr memory = allocate(kMiB, work);
  auto* const target = pinned_memory(kMiB);
  fill(memory, kMiB, 7);
  Gate held = gate();
  held.hold(work);
  driver().call(symbol::memcpy_dtoh_async)(target, memory, kMiB, work);
  driver().call(symbol::mem_free_async)(memory, work);
  EXPECT_EQ(query(work), CUDA_ERROR_NOT_READY);
  held.open();
  synchronize(work);
  EXPECT_EQ(Bytes(target, target + kMiB), Bytes(kMiB, 7));
}

TEST_F(StreamOrderedMemory, MayBeFreedByCuMemFree) {
  const CUstream work = stream();
  const CUdeviceptr memory = allocate(kMiB, work);
  synchronize(work);
  EXPECT_EQ(driver().raw(symbol::mem_free)(memory), CUDA_SUCCESS);
}

// That it has no handles is why rm windows refuse it on driver 580.159; the rest is as CUDA
// documents it. Not run on a GPU yet.
TEST_F(StreamOrderedMemory, IsItsPoolsAndHasNoHandleOfItsOwn) {
  const CUstream work = stream();
  const CUdeviceptr memory = allocate(kMiB, work);
  CUipcMemHandle shared{};
  EXPECT_NE(driver().raw(symbol::ipc_get_mem_handle)(&shared, memory), CUDA_SUCCESS);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_NE(
      driver().raw(symbol::mem_retain_allocation_handle)(&handle, reinterpret_cast<void*>(memory)),
      CUDA_SUCCESS);
  CUmemoryPool pool = nullptr;
  CUmemoryPool its_pool = nullptr;
  driver().call(symbol::device_get_default_mem_pool)(&pool, CUdevice{0});
  driver().call(symbol::pointer_get_attribute)(&its_pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                               memory);
  EXPECT_EQ(its_pool, pool);
  CUcontext context = nullptr;
  driver().call(symbol::pointer_get_attribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
  EXPECT_EQ(context, nullptr);
  driver().call(symbol::mem_free_async)(memory, work);
  synchronize(work);
}

TEST_F(StreamOrderedMemory, OfNoBytesIsGivenAndTakenBack) {
  // Unlike cuMemAlloc. Seen with driver 580.159 on an H100; the documentation doesn't say.
  const CUstream work = stream();
  CUdeviceptr address = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc_async)(&address, std::size_t{0}, work), CUDA_SUCCESS);
  EXPECT_EQ(driver().raw(symbol::mem_free_async)(address, work), CUDA_SUCCESS);
  synchronize(work);
}

}  // namespace
}  // namespace isthmus::contract

// Calls that other libraries make and Isthmus doesn't: those of cuda.core, for instance.
#include <dlfcn.h>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class OfOthers : public MachineUnderTest {
protected:
  /// A function that the driver exports. If it doesn't, null and a test failure.
  template <typename Function>
  static Function exported(const char* name) {
    void* library = dlopen(driver().path().c_str(), RTLD_NOW | RTLD_NOLOAD);
    auto* found = library != nullptr ? dlsym(library, name) : nullptr;
    EXPECT_NE(found, nullptr) << name;
    return reinterpret_cast<Function>(found);
  }
};

TEST_F(OfOthers, TheRangeOfPrioritiesBeginsWithTheLeast) {
  const auto range =
      exported<decltype(&cuCtxGetStreamPriorityRange)>("cuCtxGetStreamPriorityRange");
  ASSERT_NE(range, nullptr);
  int least = -99;
  int greatest = 99;
  EXPECT_EQ(range(&least, &greatest), CUDA_SUCCESS);
  EXPECT_LE(greatest, least) << "a lesser number is a greater priority";
  EXPECT_GE(least, 0);
  EXPECT_EQ(range(nullptr, nullptr), CUDA_SUCCESS);
}

TEST_F(OfOthers, ADevicesCurrentPoolIsItsDefaultPool) {
  const auto current = exported<decltype(&cuDeviceGetMemPool)>("cuDeviceGetMemPool");
  ASSERT_NE(current, nullptr);
  CUmemoryPool pool = nullptr;
  CUmemoryPool usual = nullptr;
  EXPECT_EQ(current(&pool, 0), CUDA_SUCCESS);
  driver().call(symbol::device_get_default_mem_pool)(&usual, 0);
  EXPECT_EQ(pool, usual);
  EXPECT_EQ(current(&pool, driver().device_count()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(OfOthers, MemoryOfANamedPoolIsAllocatedInStreamOrder) {
  const auto allocate = exported<decltype(&cuMemAllocFromPoolAsync)>("cuMemAllocFromPoolAsync");
  ASSERT_NE(allocate, nullptr);
  const CUstream work = stream();
  CUmemoryPool pool = nullptr;
  driver().call(symbol::device_get_default_mem_pool)(&pool, 0);
  CUdeviceptr memory = 0;
  ASSERT_EQ(allocate(&memory, kMiB, pool, work), CUDA_SUCCESS);
  driver().call(symbol::memset_d8_async)(memory, static_cast<unsigned char>(7), kMiB, work);
  synchronize(work);
  EXPECT_EQ(on_device(memory, kMiB), Bytes(kMiB, 7));
  EXPECT_EQ(driver().raw(symbol::mem_free_async)(memory, work), CUDA_SUCCESS);
  synchronize(work);
}

TEST_F(OfOthers, HostMemoryAllocatedWithoutFlagsIsPinned) {
  const auto allocate = exported<decltype(&cuMemAllocHost)>("cuMemAllocHost_v2");
  ASSERT_NE(allocate, nullptr);
  void* host = nullptr;
  ASSERT_EQ(allocate(&host, kMiB), CUDA_SUCCESS);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_pointer(host)),
            unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(driver().raw(symbol::mem_free_host)(host), CUDA_SUCCESS);
}

}  // namespace
}  // namespace isthmus::contract

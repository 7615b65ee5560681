// cuMemCreate and cuMemMap: memory and addresses that are created, joined and separated.
#include <unistd.h>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class VirtualMemory : public MachineUnderTest {
protected:
  static CUmemAllocationProp properties(CUmemAllocationHandleType exported_as) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.requestedHandleTypes = exported_as;
    return properties;
  }

  std::size_t granularity() {
    const CUmemAllocationProp wanted = properties(CU_MEM_HANDLE_TYPE_NONE);
    std::size_t size_bytes = 0;
    driver().call(symbol::mem_get_allocation_granularity)(&size_bytes, &wanted,
                                                          CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    return size_bytes;
  }

  CUmemGenericAllocationHandle created(
      std::size_t size_bytes,
      CUmemAllocationHandleType exported_as = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const CUmemAllocationProp wanted = properties(exported_as);
    CUmemGenericAllocationHandle handle = 0;
    driver().call(symbol::mem_create)(&handle, size_bytes, &wanted, 0ull);
    at_end([=] { return driver().raw(symbol::mem_release)(handle); });
    return handle;
  }

  CUdeviceptr reserved(std::size_t size_bytes) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_address_reserve)(&address, size_bytes, std::size_t{0}, CUdeviceptr{0},
                                               0ull);
    at_end([=] { return driver().raw(symbol::mem_address_free)(address, size_bytes); });
    return address;
  }

  void map(CUdeviceptr address, std::size_t size_bytes, CUmemGenericAllocationHandle handle) {
    driver().call(symbol::mem_map)(address, size_bytes, std::size_t{0}, handle, 0ull);
    at_end([=] { return driver().raw(symbol::mem_unmap)(address, size_bytes); });
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    driver().call(symbol::mem_set_access)(address, size_bytes, &access, std::size_t{1});
  }

  /// One granule of memory, mapped.
  CUdeviceptr mapped(
      CUmemAllocationHandleType exported_as = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    const std::size_t size_bytes = granularity();
    const CUdeviceptr address = reserved(size_bytes);
    map(address, size_bytes, created(size_bytes, exported_as));
    return address;
  }

  void expect_round_trip(CUdeviceptr address, std::size_t size_bytes) {
    const auto sent = pattern(size_bytes, 1);
    std::vector<std::uint8_t> found(size_bytes);
    driver().call(symbol::memcpy_htod)(address, sent.data(), size_bytes);
    driver().call(symbol::memcpy_dtoh)(found.data(), address, size_bytes);
    EXPECT_TRUE(found == sent);
  }
};

TEST_F(VirtualMemory, HoldsWhatIsCopiedIntoIt) {
  expect_round_trip(mapped() + 3, granularity() - 7);
}

TEST_F(VirtualMemory, IsFilledLikeAnyOther) {
  const CUdeviceptr device = mapped();
  const CUstream work = stream();
  driver().call(symbol::memset_d8_async)(device, static_cast<unsigned char>(7), kKiB, work);
  synchronize(work);
  std::vector<std::uint8_t> found(kKiB);
  driver().call(symbol::memcpy_dtoh)(found.data(), device, found.size());
  EXPECT_EQ(found, std::vector<std::uint8_t>(kKiB, 7));
}

TEST_F(VirtualMemory, IsOneRangeAcrossMappingsThatAdjoin) {
  const std::size_t size_bytes = granularity();
  const CUdeviceptr address = reserved(2 * size_bytes);
  map(address, size_bytes, created(size_bytes));
  map(address + size_bytes, size_bytes, created(size_bytes));
  expect_round_trip(address + size_bytes - 1000, 2000);
}

TEST_F(VirtualMemory, ShowsTheSameBytesWhereverItIsMapped) {
  const std::size_t size_bytes = granularity();
  const CUmemGenericAllocationHandle handle = created(size_bytes);
  const CUdeviceptr first = reserved(size_bytes);
  const CUdeviceptr second = reserved(size_bytes);
  map(first, size_bytes, handle);
  map(second, size_bytes, handle);
  const auto sent = pattern(kKiB, 5);
  std::vector<std::uint8_t> found(kKiB);
  driver().call(symbol::memcpy_htod)(first, sent.data(), sent.size());
  driver().call(symbol::ctx_synchronize)();
  driver().call(symbol::memcpy_dtoh)(found.data(), second, found.size());
  EXPECT_EQ(found, sent);
}

TEST_F(VirtualMemory, SaysThatItIsDeviceMemoryOfItsDevice) {
  const CUdeviceptr device = mapped();
  unsigned type = 0;
  int ordinal = -1;
  unsigned long long id = 0;
  const auto get = driver().call(symbol::pointer_get_attribute);
  get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device);
  get(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device);
  get(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, device);
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(ordinal, 0);
  EXPECT_NE(id, 0u);
}

TEST_F(VirtualMemory, GivesItsHandleBackByAddress) {
  const CUdeviceptr device = mapped();
  CUmemGenericAllocationHandle handle = 0;
  driver().call(symbol::mem_retain_allocation_handle)(&handle,
                                                      reinterpret_cast<void*>(device + 100));
  CUmemAllocationProp found{};
  driver().call(symbol::mem_get_allocation_properties)(&found, handle);
  EXPECT_EQ(found.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(found.location.id, 0);
  EXPECT_EQ(found.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  driver().call(symbol::mem_release)(handle);
}

TEST_F(VirtualMemory, IsNotWhatOrdinaryAllocationsAre) {
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_NE(driver().raw(symbol::mem_retain_allocation_handle)(
                &handle, reinterpret_cast<void*>(device_memory(kMiB))),
            CUDA_SUCCESS);
}

TEST_F(VirtualMemory, StaysWhileItIsMappedThoughItsHandleIsReleased) {
  const std::size_t size_bytes = granularity();
  const CUmemAllocationProp wanted = properties(CU_MEM_HANDLE_TYPE_NONE);
  CUmemGenericAllocationHandle handle = 0;
  driver().call(symbol::mem_create)(&handle, size_bytes, &wanted, 0ull);
  const CUdeviceptr address = reserved(size_bytes);
  map(address, size_bytes, handle);
  driver().call(symbol::mem_release)(handle);
  expect_round_trip(address, size_bytes);
}

TEST_F(VirtualMemory, IsExportedAsAFileIfThatWasAskedForWhenItWasMade) {
  int file = -1;
  driver().call(symbol::mem_export_to_shareable_handle)(
      &file, created(granularity()), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull);
  EXPECT_GE(file, 0);
  close(file);
}

TEST_F(VirtualMemory, IsNotExportedOtherwise) {
  int file = -1;
  EXPECT_EQ(driver().raw(symbol::mem_export_to_shareable_handle)(
                &file, created(granularity(), CU_MEM_HANDLE_TYPE_NONE),
                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, HasNoIpcHandle) {
  CUipcMemHandle handle{};
  EXPECT_EQ(driver().raw(symbol::ipc_get_mem_handle)(&handle, mapped()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, CannotBeMadeSynchronous) {
  const unsigned on = 1;
  EXPECT_EQ(
      driver().raw(symbol::pointer_set_attribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, mapped()),
      CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(VirtualMemory, IsMadeInWholeGranules) {
  const CUmemAllocationProp wanted = properties(CU_MEM_HANDLE_TYPE_NONE);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(driver().raw(symbol::mem_create)(&handle, granularity() + 1, &wanted, 0ull),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace isthmus::contract

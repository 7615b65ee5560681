// Memory: its attributes, its limits, and writing to it.
#include <algorithm>

#include <sys/mman.h>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

CUdeviceptr address_of(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

using DeviceMemory = MachineUnderTest;

TEST_F(DeviceMemory, IsAlignedTo256Bytes) {
  EXPECT_EQ(device_memory(1) % 256, 0u);
  EXPECT_EQ(device_memory(100) % 256, 0u);
}

TEST_F(DeviceMemory, SaysThatItIsDeviceMemoryOfItsContext) {
  const CUdeviceptr device = device_memory(kMiB);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5),
            unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device), 0);
  EXPECT_EQ(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, device), context());
  EXPECT_EQ(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 5), device);
  EXPECT_EQ(attribute<std::size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, device), kMiB);
}

TEST_F(DeviceMemory, LeavesLessFreeWhileItIsAllocated) {
  const std::size_t before_bytes = free_bytes();
  CUdeviceptr device = 0;
  driver().call(symbol::mem_alloc)(&device, 64 * kMiB);
  EXPECT_LE(free_bytes(), before_bytes - 64 * kMiB);
  driver().call(symbol::mem_free)(device);
  EXPECT_EQ(free_bytes(), before_bytes);
}

TEST_F(DeviceMemory, RunsOutForAnAbsurdSize) {
  CUdeviceptr device = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&device, std::size_t{1} << 50),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NO_THROW(device_memory(kMiB)) << "the refused one left damage";
}

TEST_F(DeviceMemory, OfNoBytesIsRefused) {
  CUdeviceptr device = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&device, std::size_t{0}), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeviceMemory, IsFilledByteByByteWithinTheBoundsGiven) {
  const CUdeviceptr device = device_memory(kKiB);
  const CUstream work = stream();
  driver().call(symbol::memset_d8_async)(device, static_cast<unsigned char>(1), kKiB, work);
  driver().call(symbol::memset_d8_async)(device + 3, static_cast<unsigned char>(9), std::size_t{13},
                                         work);
  synchronize(work);
  std::vector<std::uint8_t> expected(kKiB, 1);
  std::fill_n(expected.begin() + 3, 13, std::uint8_t{9});
  EXPECT_EQ(on_device(device, kKiB), expected);
}

TEST_F(DeviceMemory, IsFilledWordByWord) {
  const CUdeviceptr device = device_memory(kKiB);
  const CUstream work = stream();
  driver().call(symbol::memset_d8_async)(device, static_cast<unsigned char>(0), kKiB, work);
  driver().call(symbol::memset_d32_async)(device + 4, 0x04030201u, std::size_t{2}, work);
  synchronize(work);
  const std::vector<std::uint8_t> expected{0, 0, 0, 0, 1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 0};
  EXPECT_EQ(on_device(device, 16), expected);
}

TEST_F(DeviceMemory, RefusesWordsAtAnUnalignedAddress) {
  const CUdeviceptr device = device_memory(kKiB);
  EXPECT_EQ(driver().raw(symbol::memset_d32_async)(device + 2, 1u, std::size_t{1}, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DeviceMemory, AtNoAddressMayBeFreed) {
  EXPECT_EQ(driver().raw(symbol::mem_free)(0), CUDA_SUCCESS);
  EXPECT_EQ(driver().raw(symbol::mem_free_host)(nullptr), CUDA_SUCCESS);
}

using PinnedMemory = MachineUnderTest;

TEST_F(PinnedMemory, HasADevicePointer) {
  auto* host = pinned_memory(kKiB);
  EXPECT_NE(device_pointer(host), 0u);
  EXPECT_EQ(device_pointer(host + 100), device_pointer(host) + 100);
}

TEST_F(PinnedMemory, SaysThatItIsHostMemory) {
  auto* host = pinned_memory(kKiB);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(host)),
            unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(attribute<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, address_of(host)), host);
}

TEST_F(PinnedMemory, RunsOutForAnAbsurdSize) {
  void* host = nullptr;
  EXPECT_EQ(driver().raw(symbol::mem_host_alloc)(&host, std::size_t{1} << 46, 0u),
            CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(PinnedMemory, IsNoLongerKnownAfterItWasFreed) {
  void* host = nullptr;
  driver().call(symbol::mem_host_alloc)(&host, kKiB, 0u);
  driver().call(symbol::mem_free_host)(host);
  EXPECT_EQ(driver().raw(symbol::mem_free_host)(host), CUDA_ERROR_INVALID_VALUE);
}

using RegisteredMemory = MachineUnderTest;

TEST_F(RegisteredMemory, IsHostMemoryWhileItIsRegistered) {
  std::vector<std::uint8_t> host(kMiB);
  unsigned type = 0;
  EXPECT_EQ(driver().raw(symbol::pointer_get_attribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                        address_of(host.data())),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_host_register)(host.data(), host.size(), 0u);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(host.data())),
            unsigned{CU_MEMORYTYPE_HOST});
  driver().call(symbol::mem_host_unregister)(host.data());
  EXPECT_EQ(driver().raw(symbol::pointer_get_attribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                        address_of(host.data())),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RegisteredMemory, CannotBeRegisteredTwice) {
  std::vector<std::uint8_t> host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size(), 0u);
  EXPECT_EQ(driver().raw(symbol::mem_host_register)(host.data(), host.size(), 0u),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  driver().call(symbol::mem_host_unregister)(host.data());
}

TEST_F(RegisteredMemory, CannotOverlapWhatIsRegistered) {
  std::vector<std::uint8_t> host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size() / 2, 0u);
  EXPECT_EQ(driver().raw(symbol::mem_host_register)(host.data() + kKiB, host.size() / 2, 0u),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  driver().call(symbol::mem_host_unregister)(host.data());
}

TEST_F(RegisteredMemory, MayShareItsPageWithOtherRegisteredMemory) {
  std::vector<std::uint8_t> host(kKiB);
  driver().call(symbol::mem_host_register)(host.data(), 100, 0u);
  driver().call(symbol::mem_host_register)(host.data() + 200, 100, 0u);
  unsigned type = 0;
  EXPECT_EQ(driver().raw(symbol::pointer_get_attribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                        address_of(host.data() + 150)),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_host_unregister)(host.data());
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(host.data() + 250)),
            unsigned{CU_MEMORYTYPE_HOST});
  driver().call(symbol::mem_host_unregister)(host.data() + 200);
}

TEST_F(RegisteredMemory, IsUnregisteredByItsFirstByteOnly) {
  std::vector<std::uint8_t> host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size(), 0u);
  EXPECT_EQ(driver().raw(symbol::mem_host_unregister)(host.data() + kKiB),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_host_unregister)(host.data());
}

TEST_F(RegisteredMemory, MustBeMapped) {
  void* nowhere = mmap(nullptr, 4 * kKiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(nowhere, 4 * kKiB);
  EXPECT_EQ(driver().raw(symbol::mem_host_register)(nowhere, 4 * kKiB, 0u),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(RegisteredMemory, CannotBeUnregisteredTwice) {
  std::vector<std::uint8_t> host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size(), 0u);
  driver().call(symbol::mem_host_unregister)(host.data());
  EXPECT_EQ(driver().raw(symbol::mem_host_unregister)(host.data()),
            CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

}  // namespace
}  // namespace isthmus::contract

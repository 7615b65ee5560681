// The memory objects behind allocations: small ones share them, and handles of cuIpcGetMemHandle
// name them.
#include <array>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

constexpr std::size_t kObjectBytes = 2 * kMiB;

class Objects : public EmulatedMachine {
protected:
  explicit Objects(const std::string& profile = "small") : EmulatedMachine(profile) { enter(); }

  std::array<std::uint32_t, 16> handle_words(CUdeviceptr address) {
    CUipcMemHandle handle{};
    driver().call(symbol::ipc_get_mem_handle)(&handle, address);
    std::array<std::uint32_t, 16> words{};
    std::memcpy(words.data(), &handle, sizeof handle);
    return words;
  }
  std::uint32_t object_of(CUdeviceptr address) { return handle_words(address)[13]; }
  unsigned long long buffer_id(CUdeviceptr address) {
    unsigned long long id = 0;
    driver().call(symbol::pointer_get_attribute)(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
    return id;
  }
  void free(CUdeviceptr address) { driver().call(symbol::mem_free)(address); }
  std::size_t used_bytes() {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    driver().call(symbol::mem_get_info)(&free_bytes, &total_bytes);
    return total_bytes - free_bytes;
  }
};

TEST_F(Objects, AreSharedBySmallAllocationsAtMultiplesOf512Bytes) {
  const CUdeviceptr first = device_memory(4);
  const CUdeviceptr second = device_memory(600);
  const CUdeviceptr third = device_memory(1);
  EXPECT_EQ(first % kObjectBytes, 0u);
  EXPECT_EQ(second - first, 512u);
  EXPECT_EQ(third - second, 1024u);
  EXPECT_EQ(object_of(third), object_of(first));
  EXPECT_EQ(used_bytes(), kObjectBytes);
}

TEST_F(Objects, OfAllocationsAboveOneMebibyteAreTheirOwn) {
  const CUdeviceptr small = device_memory(kMiB);
  const CUdeviceptr first = device_memory(kMiB + 1);
  const CUdeviceptr second = device_memory(kMiB + 1);
  EXPECT_NE(object_of(first), object_of(small));
  EXPECT_NE(object_of(first), object_of(second));
  EXPECT_EQ(used_bytes(), kObjectBytes + 2 * (kMiB + 65536));
}

TEST_F(Objects, GiveAFreedPartToTheNextAllocation) {
  device_memory(512);
  const CUdeviceptr gone = device_memory(512);
  const auto id = buffer_id(gone);
  device_memory(512);
  free(gone);
  const CUdeviceptr next = device_memory(100);
  EXPECT_EQ(next, gone);
  EXPECT_NE(buffer_id(next), id);
}

TEST_F(Objects, GoWithTheirLastAllocation) {
  const CUdeviceptr first = device_memory(4);
  const CUdeviceptr second = device_memory(4);
  const std::uint32_t object = object_of(first);
  free(first);
  const int file = controls().object_file(object, nullptr);
  EXPECT_GE(file, 0);
  close(file);
  free(second);
  EXPECT_EQ(controls().object_file(object, nullptr), -1);
  EXPECT_EQ(used_bytes(), 0u);
}

TEST_F(Objects, AreDescribedInHandlesAsDriver580Does) {
  device_memory(512);
  const CUdeviceptr small = device_memory(100);
  const auto words = handle_words(small + 50);
  EXPECT_EQ(words[2], static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(words[4], 100u);
  EXPECT_EQ(words[5], 0u);
  EXPECT_EQ(words[6], kObjectBytes / 4096);
  EXPECT_EQ(words[7], 512u);
  EXPECT_EQ(words[12] >> 16, 0xc1d0u);
  EXPECT_EQ(words[13] >> 16, 0x5c00u);
}

TEST_F(Objects, CanBeMappedByTheNumberInAHandle) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  std::size_t size_bytes = 0;
  const int file = controls().object_file(object_of(device), &size_bytes);
  ASSERT_GE(file, 0);
  EXPECT_EQ(size_bytes, 4 * kMiB);
  auto* mapped = static_cast<std::uint8_t*>(
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  mapped[kMiB] = 9;
  std::uint8_t found = 0;
  driver().call(symbol::memcpy_dtoh)(&found, device + kMiB, std::size_t{1});
  EXPECT_EQ(found, 9u);
  munmap(mapped, size_bytes);
}

TEST_F(Objects, AreNotThereForNumbersThatNoneHas) {
  EXPECT_EQ(controls().object_file(0, nullptr), -1);
  EXPECT_EQ(controls().object_file(0x5c00ffff, nullptr), -1);
}

TEST_F(Objects, HaveHandlesForDeviceMemoryOnly) {
  CUipcMemHandle handle{};
  const auto host = reinterpret_cast<CUdeviceptr>(pinned_memory(4096));
  EXPECT_EQ(driver().raw(symbol::ipc_get_mem_handle)(&handle, host), CUDA_ERROR_INVALID_VALUE);
}

class ObjectsOfTinyMemory : public Objects {
protected:
  ObjectsOfTinyMemory() : Objects("tiny-memory") {}
};

TEST_F(ObjectsOfTinyMemory, CountAsAWholeAgainstTheDevicesMemory) {
  device_memory(62 * kMiB);
  device_memory(kMiB);
  device_memory(kMiB);
  CUdeviceptr more = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&more, std::size_t{1}), CUDA_ERROR_OUT_OF_MEMORY);
}

class SynchronousMemory : public Objects {};

TEST_F(SynchronousMemory, HasWhatABlockingCopyFromPageableMemorySentWhenItReturns) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  const unsigned on = 1;
  driver().call(symbol::pointer_set_attribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device);
  const std::vector<std::uint8_t> sent(64 * 1024, 5);
  driver().call(symbol::memcpy_htod)(device, sent.data(), sent.size());
  EXPECT_EQ(query(nullptr), CUDA_SUCCESS) << "the copy is still on its way";
}

TEST_F(SynchronousMemory, IsSoUntilItIsToldOtherwise) {
  const CUdeviceptr device = device_memory(4);
  const auto set = [&](unsigned value) {
    driver().call(symbol::pointer_set_attribute)(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device);
    unsigned found = 2;
    driver().call(symbol::pointer_get_attribute)(&found, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device);
    return found;
  };
  EXPECT_EQ(set(1), 1u);
  EXPECT_EQ(set(0), 0u);
}

class VirtualMemory : public Objects {
protected:
  CUmemGenericAllocationHandle created() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemGenericAllocationHandle handle = 0;
    driver().call(symbol::mem_create)(&handle, kObjectBytes, &properties, 0ull);
    return handle;
  }
  CUdeviceptr reserved() {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_address_reserve)(&address, kObjectBytes, std::size_t{0},
                                               CUdeviceptr{0}, 0ull);
    return address;
  }
};

TEST_F(VirtualMemory, CannotBeCopiedToUntilItIsAccessible) {
  const auto handle = created();
  const CUdeviceptr address = reserved();
  driver().call(symbol::mem_map)(address, kObjectBytes, std::size_t{0}, handle, 0ull);
  const std::uint32_t sent = 1;
  EXPECT_EQ(driver().raw(symbol::memcpy_htod)(address, &sent, sizeof sent),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_unmap)(address, kObjectBytes);
  driver().call(symbol::mem_address_free)(address, kObjectBytes);
  driver().call(symbol::mem_release)(handle);
}

TEST_F(VirtualMemory, IsUsedUpUntilBothHandleAndMappingAreGone) {
  const auto handle = created();
  const CUdeviceptr address = reserved();
  driver().call(symbol::mem_map)(address, kObjectBytes, std::size_t{0}, handle, 0ull);
  driver().call(symbol::mem_release)(handle);
  EXPECT_EQ(used_bytes(), kObjectBytes);
  EXPECT_EQ(controls().live().device_bytes, kObjectBytes);
  driver().call(symbol::mem_unmap)(address, kObjectBytes);
  EXPECT_EQ(used_bytes(), 0u);
  driver().call(symbol::mem_address_free)(address, kObjectBytes);
}

TEST_F(VirtualMemory, IsRefusedOnceItsHandleIsReleased) {
  const auto handle = created();
  driver().call(symbol::mem_release)(handle);
  EXPECT_EQ(driver().raw(symbol::mem_release)(handle), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(VirtualMemory, IsMappedOnlyWhereAddressesAreReservedAndFree) {
  const auto handle = created();
  const CUdeviceptr address = reserved();
  const auto map = driver().raw(symbol::mem_map);
  EXPECT_EQ(map(address + kObjectBytes, kObjectBytes, std::size_t{0}, handle, 0ull),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_map)(address, kObjectBytes, std::size_t{0}, handle, 0ull);
  EXPECT_EQ(map(address, kObjectBytes, std::size_t{0}, handle, 0ull), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().raw(symbol::mem_address_free)(address, kObjectBytes),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_unmap)(address, kObjectBytes);
  driver().call(symbol::mem_address_free)(address, kObjectBytes);
  driver().call(symbol::mem_release)(handle);
}

}  // namespace
}  // namespace isthmus::emulated

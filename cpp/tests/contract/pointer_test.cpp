// The driver's information about pointers: whose memory, since when, and how it can be shared.
#include <array>
#include <cstring>

#include <unistd.h>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

constexpr std::size_t kLarge = 64 * kMiB;  // doesn't share memory with other allocations

class Pointer : public MachineUnderTest {
protected:
  unsigned long long buffer_id(CUdeviceptr address) {
    return attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
  }
};

using BufferId = Pointer;

TEST_F(BufferId, IsTheSameAllOverAnAllocation) {
  const CUdeviceptr device = device_memory(kLarge);
  EXPECT_EQ(buffer_id(device), buffer_id(device + kLarge - 1));
}

TEST_F(BufferId, TellsAllocationsApart) {
  const CUdeviceptr first = device_memory(100);
  const CUdeviceptr second = device_memory(100);
  EXPECT_NE(buffer_id(first), buffer_id(second));
}

TEST_F(BufferId, IsNewWhenAnAddressIsUsedAgain) {
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  driver().call(symbol::mem_alloc)(&first, kLarge);
  const unsigned long long id = buffer_id(first);
  driver().call(symbol::mem_free)(first);
  driver().call(symbol::mem_alloc)(&second, kLarge);
  EXPECT_NE(buffer_id(second), id);
  driver().call(symbol::mem_free)(second);
}

TEST_F(Pointer, ToFreedMemoryIsUnknown) {
  CUdeviceptr gone = 0;
  driver().call(symbol::mem_alloc)(&gone, kLarge);
  driver().call(symbol::mem_free)(gone);
  unsigned long long id = 0;
  EXPECT_EQ(driver().raw(symbol::pointer_get_attribute)(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, gone),
            CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr base = 0;
  std::size_t size_bytes = 0;
  EXPECT_NE(driver().raw(symbol::mem_get_address_range)(&base, &size_bytes, gone), CUDA_SUCCESS);
}

TEST_F(Pointer, HasARangeWhereverItPointsIntoIt) {
  const CUdeviceptr device = device_memory(kLarge);
  CUdeviceptr base = 0;
  std::size_t size_bytes = 0;
  driver().call(symbol::mem_get_address_range)(&base, &size_bytes, device + kMiB + 3);
  EXPECT_EQ(base, device);
  EXPECT_EQ(size_bytes, kLarge);
}

using Attributes = Pointer;

TEST_F(Attributes, AreTheSameAllAtOnceAsOneByOne) {
  const CUdeviceptr device = device_memory(kLarge);
  CUcontext owner = nullptr;
  unsigned type = 0;
  int ordinal = -1;
  unsigned long long id = 0;
  std::array names{CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_BUFFER_ID};
  std::array<void*, 4> values{&owner, &type, &ordinal, &id};
  driver().call(symbol::pointer_get_attributes)(4u, names.data(), values.data(), device + 1);
  EXPECT_EQ(owner, context());
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(id, buffer_id(device));
}

TEST_F(Attributes, OfWhatTheDriverDoesNotKnowAreNull) {
  std::vector<std::uint8_t> pageable(kMiB);
  CUcontext owner = context();
  unsigned type = CU_MEMORYTYPE_DEVICE;
  std::array names{CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  std::array<void*, 2> values{&owner, &type};
  EXPECT_EQ(driver().raw(symbol::pointer_get_attributes)(
                2u, names.data(), values.data(), reinterpret_cast<CUdeviceptr>(pageable.data())),
            CUDA_SUCCESS);
  EXPECT_EQ(owner, nullptr);
  EXPECT_EQ(type, 0u);
}

using ManagedMemory = Pointer;

TEST_F(ManagedMemory, SaysSo) {
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed_memory(kMiB)), 1u);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, device_memory(kMiB)), 0u);
}

TEST_F(ManagedMemory, IsCopiedLikeAnyOther) {
  const CUdeviceptr managed = managed_memory(kMiB);
  const auto sent = pattern(kMiB, 3);
  std::vector<std::uint8_t> found(kMiB);
  driver().call(symbol::memcpy_htod)(managed, sent.data(), sent.size());
  driver().call(symbol::memcpy_dtoh)(found.data(), managed, found.size());
  EXPECT_EQ(found, sent);
}

using SynchronousOperations = Pointer;

TEST_F(SynchronousOperations, CanBeAskedForOnDeviceMemory) {
  const CUdeviceptr device = device_memory(kLarge);
  const unsigned on = 1;
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device), 0u);
  driver().call(symbol::pointer_set_attribute)(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device);
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device), 1u);
}

TEST_F(SynchronousOperations, AreTheOnlyAttributeThatCanBeSet) {
  const CUdeviceptr device = device_memory(kLarge);
  const unsigned type = CU_MEMORYTYPE_HOST;
  EXPECT_EQ(
      driver().raw(symbol::pointer_set_attribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device),
      CUDA_ERROR_INVALID_VALUE);
}

using IpcHandle = Pointer;

TEST_F(IpcHandle, IsThereForDeviceMemory) {
  CUipcMemHandle handle{};
  EXPECT_EQ(driver().raw(symbol::ipc_get_mem_handle)(&handle, device_memory(100)), CUDA_SUCCESS);
}

TEST_F(IpcHandle, IsRefusedForManagedMemory) {
  CUipcMemHandle handle{};
  EXPECT_EQ(driver().raw(symbol::ipc_get_mem_handle)(&handle, managed_memory(kMiB)),
            CUDA_ERROR_INVALID_VALUE);
}

using ExportedRange = Pointer;

TEST_F(ExportedRange, MayBeAnyPagesOfAnAllocation) {
  const CUdeviceptr device = device_memory(kLarge);
  int file = -1;
  driver().call(symbol::mem_get_handle_for_address_range)(
      &file, device + 3 * 4096, std::size_t{4096}, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ull);
  EXPECT_GE(file, 0);
  close(file);
}

TEST_F(ExportedRange, MustBeWholePages) {
  const CUdeviceptr device = device_memory(kLarge);
  int file = -1;
  const auto export_range = driver().raw(symbol::mem_get_handle_for_address_range);
  EXPECT_EQ(export_range(&file, device + 100, std::size_t{4096},
                         CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ull),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      export_range(&file, device, std::size_t{100}, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ull),
      CUDA_ERROR_INVALID_VALUE);
}

class Capture : public MachineUnderTest {
protected:
  CUresult end(CUstream captured) {
    CUgraph graph = nullptr;
    const CUresult result = driver().raw(symbol::stream_end_capture)(captured, &graph);
    if (graph != nullptr) driver().call(symbol::graph_destroy)(graph);
    return result;
  }
};

TEST_F(Capture, ForbidsAllocatingMemory) {
  const CUstream captured = stream();
  driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr device = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&device, kMiB), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, AllowsItToARelaxedThread) {
  const CUstream captured = stream();
  driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver().call(symbol::thread_exchange_stream_capture_mode)(&mode);
  CUdeviceptr device = 0;
  EXPECT_EQ(driver().raw(symbol::mem_alloc)(&device, kMiB), CUDA_SUCCESS);
  driver().call(symbol::thread_exchange_stream_capture_mode)(&mode);
  EXPECT_EQ(end(captured), CUDA_SUCCESS);
  EXPECT_EQ(driver().raw(symbol::mem_free)(device), CUDA_SUCCESS);
}

TEST(CaptureMode, IsEachThreadsOwnAndIsExchanged) {
  const Driver driver = Driver::open();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver.call(symbol::thread_exchange_stream_capture_mode)(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  driver.call(symbol::thread_exchange_stream_capture_mode)(&mode);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

}  // namespace
}  // namespace isthmus::contract

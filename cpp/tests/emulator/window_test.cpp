// Device memory can be exported as a file and mapped, as a dma-buf can.
#include <sys/mman.h>
#include <unistd.h>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

class Window : public EmulatedMachine {
protected:
  Window() { enter(); }

  CUresult export_range(int* file, CUdeviceptr address, std::size_t size_bytes) {
    return driver().raw(symbol::mem_get_handle_for_address_range)(
        file, address, size_bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0ull);
  }
};

TEST_F(Window, ShowsTheBytesOfTheDeviceAndWritesThem) {
  const CUdeviceptr device = device_memory(kMiB);
  int file = -1;
  ASSERT_EQ(export_range(&file, device, kMiB), CUDA_SUCCESS);
  void* mapped = mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  auto* window = static_cast<std::uint32_t*>(mapped);
  const std::uint32_t sent = 0x12345678;
  driver().call(symbol::memcpy_htod)(device + 8, &sent, sizeof sent);
  synchronize(nullptr);
  EXPECT_EQ(window[2], sent);
  window[3] = 99;
  std::uint32_t found = 0;
  driver().call(symbol::memcpy_dtoh)(&found, device + 12, sizeof found);
  EXPECT_EQ(found, 99u);
  munmap(mapped, kMiB);
}

TEST_F(Window, BeginsWhereTheFilesPositionIs) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  const CUdeviceptr wanted = device + 5 * 4096;
  int file = -1;
  ASSERT_EQ(export_range(&file, wanted, 4096), CUDA_SUCCESS);
  const off_t begin = lseek(file, 0, SEEK_CUR);
  auto* mapped = static_cast<std::uint32_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, begin));
  ASSERT_NE(mapped, MAP_FAILED);
  close(file);
  mapped[0] = 77;
  std::uint32_t found = 0;
  driver().call(symbol::memcpy_dtoh)(&found, wanted, sizeof found);
  EXPECT_EQ(found, 77u);
  munmap(mapped, 4096);
}

TEST_F(Window, MayShowAllOfTheGpuPagesThatASmallAllocationIsIn) {
  const CUdeviceptr device = device_memory(4);
  const CUdeviceptr gpu_page = device & ~CUdeviceptr{65535};
  int file = -1;
  EXPECT_EQ(export_range(&file, gpu_page, 65536), CUDA_SUCCESS);
  close(file);
  EXPECT_EQ(export_range(&file, gpu_page, 65536 + 4096), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Window, KeepsShowingMemoryThatHasBeenFreed) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  const std::uint32_t sent = 0x12345678;
  driver().call(symbol::memcpy_htod)(device, &sent, sizeof sent);
  synchronize(nullptr);
  int file = -1;
  ASSERT_EQ(export_range(&file, device, 4096), CUDA_SUCCESS);
  auto* mapped =
      static_cast<std::uint32_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  driver().call(symbol::mem_free)(device);
  const CUdeviceptr next = device_memory(4 * kMiB);
  EXPECT_EQ(next, device) << "the address should be used again";
  driver().call(symbol::memset_d8_async)(next, static_cast<unsigned char>(0), 4 * kMiB, nullptr);
  synchronize(nullptr);
  EXPECT_EQ(mapped[0], sent);
  munmap(mapped, 4096);
}

TEST_F(Window, MustBeOfWholePagesWithinAnAllocation) {
  const CUdeviceptr device = device_memory(kMiB);
  int file = -1;
  EXPECT_EQ(export_range(&file, device, kMiB + 4096), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr large = device_memory(4 * kMiB);
  EXPECT_EQ(export_range(&file, large, 4 * kMiB + 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_range(&file, large + 100, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_range(&file, device, 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_range(&file, device, 0), CUDA_ERROR_INVALID_VALUE);
  const auto host = reinterpret_cast<CUdeviceptr>(pinned_memory(kMiB));
  EXPECT_EQ(export_range(&file, host, kMiB), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Window, CannotBeTruncatedThroughItsFile) {
  const CUdeviceptr device = device_memory(kMiB);
  int file = -1;
  ASSERT_EQ(export_range(&file, device, kMiB), CUDA_SUCCESS);
  EXPECT_NE(ftruncate(file, 0), 0);
  close(file);
}

}  // namespace
}  // namespace isthmus::emulated

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

TEST_F(Window, MustBeOfWholePagesWithinAnAllocation) {
  const CUdeviceptr device = device_memory(kMiB);
  int file = -1;
  EXPECT_EQ(export_range(&file, device, kMiB + 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_range(&file, device, 100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(export_range(&file, device, 0), CUDA_ERROR_INVALID_VALUE);
  const auto host = reinterpret_cast<CUdeviceptr>(pinned_memory(kMiB));
  EXPECT_EQ(export_range(&file, host, kMiB), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Window, CannotBeTruncatedByWhoeverHasIt) {
  const CUdeviceptr device = device_memory(kMiB);
  int file = -1;
  ASSERT_EQ(export_range(&file, device, kMiB), CUDA_SUCCESS);
  EXPECT_NE(ftruncate(file, 0), 0);
  close(file);
}

}  // namespace
}  // namespace isthmus::emulated

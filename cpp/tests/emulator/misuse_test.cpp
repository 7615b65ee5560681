// Undefined behaviour of a real driver is an error here: use of destroyed handles and freed memory.
#include <thread>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

class Misuse : public EmulatedMachine {
protected:
  Misuse() { enter(); }
};

TEST_F(Misuse, OfADestroyedStreamIsAnInvalidHandle) {
  const CUstream gone = stream();
  driver().call(symbol::stream_destroy)(gone);
  EXPECT_EQ(query(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().raw(symbol::stream_synchronize)(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().raw(symbol::stream_destroy)(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().raw(symbol::event_record)(event(), gone), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Misuse, OfADestroyedEventIsAnInvalidHandle) {
  const CUevent gone = event();
  driver().call(symbol::event_destroy)(gone);
  EXPECT_EQ(driver().raw(symbol::event_query)(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().raw(symbol::event_record)(gone, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().raw(symbol::event_destroy)(gone), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().raw(symbol::stream_wait_event)(nullptr, gone, 0u), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Misuse, OfFreedMemoryIsAnInvalidValue) {
  const CUdeviceptr gone = device_memory(kMiB);
  driver().call(symbol::mem_free)(gone);
  std::byte host{};
  EXPECT_EQ(driver().raw(symbol::mem_free)(gone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().raw(symbol::memcpy_dtoh)(&host, gone, std::size_t{1}),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Misuse, OfTheByteAfterAnAllocationIsAnInvalidValue) {
  const CUdeviceptr device = device_memory(100);
  std::vector<std::byte> host(101);
  EXPECT_EQ(driver().raw(symbol::memcpy_htod)(device, host.data(), host.size()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().raw(symbol::memset_d8_async)(device + 1, static_cast<unsigned char>(0),
                                                  std::size_t{100}, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

// The documentation forbids it; driver 580.159 on an H100 accepts it silently.
TEST_F(Misuse, OfAPartOfAnArraysElementIsAnInvalidValue) {
  const CUDA_ARRAY_DESCRIPTOR wanted{32, 8, CU_AD_FORMAT_FLOAT, 1};
  CUarray made = nullptr;
  driver().call(symbol::array_create)(&made, &wanted);
  const std::vector<std::byte> host(64);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = made;
  copy.dstXInBytes = 2;
  copy.WidthInBytes = 4;
  copy.Height = 1;
  copy.Depth = 1;
  EXPECT_EQ(driver().raw(symbol::memcpy_3d)(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.dstXInBytes = 4;
  EXPECT_EQ(driver().raw(symbol::memcpy_3d)(&copy), CUDA_SUCCESS);
  driver().call(symbol::array_destroy)(made);
}

TEST_F(Misuse, OfAStreamFromBeforeTheContextWasReleasedIsAnError) {
  const CUstream gone = stream();
  driver().call(symbol::primary_ctx_release)(0);
  EXPECT_EQ(query(gone), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUcontext context = nullptr;
  driver().call(symbol::primary_ctx_retain)(&context, 0);
  EXPECT_EQ(query(gone), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Misuse, OfAReleasedContextIsAnError) {
  driver().call(symbol::primary_ctx_release)(0);
  EXPECT_EQ(driver().raw(symbol::primary_ctx_release)(0), CUDA_ERROR_INVALID_CONTEXT);
  CUcontext context = nullptr;
  driver().call(symbol::primary_ctx_retain)(&context, 0);
}

TEST_F(Misuse, OfAKernelOfAnUnloadedModuleIsAnInvalidHandle) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  driver().call(symbol::module_load_data)(&module, "isthmus-kernels:spin");
  driver().call(symbol::module_get_function)(&function, module, "isthmus_spin");
  driver().call(symbol::module_unload)(module);
  EXPECT_EQ(driver().raw(symbol::module_unload)(module), CUDA_ERROR_INVALID_HANDLE);
  std::uint64_t duration_ns = 0;
  void* parameters[] = {&duration_ns};
  EXPECT_EQ(driver().raw(symbol::launch_kernel)(function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, nullptr,
                                                parameters, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Misuse, OfAReleasedContextByAHeldStreamDoesNotHang) {
  const CUstream held = stream();
  auto* flag = reinterpret_cast<std::uint32_t*>(pinned_memory(sizeof(std::uint32_t)));
  driver().call(symbol::stream_wait_value32)(held, reinterpret_cast<CUdeviceptr>(flag), 1u, 0u);
  driver().call(symbol::primary_ctx_release)(0);
  EXPECT_EQ(controls().live().streams, 0u);
  CUcontext context = nullptr;
  driver().call(symbol::primary_ctx_retain)(&context, 0);
}

}  // namespace
}  // namespace isthmus::emulated

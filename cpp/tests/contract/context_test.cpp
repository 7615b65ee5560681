// A context is current for one thread, and calls of other threads don't change that.
#include <thread>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class Context : public MachineUnderTest {
protected:
  CUcontext current() {
    CUcontext found = nullptr;
    driver().call(symbol::ctx_get_current)(&found);
    return found;
  }
};

TEST_F(Context, StaysCurrentWhenItIsRetainedAndReleasedAgain) {
  ASSERT_EQ(current(), context());
  CUcontext again = nullptr;
  driver().call(symbol::primary_ctx_retain)(&again, 0);
  EXPECT_EQ(again, context());
  EXPECT_EQ(current(), context());
  driver().call(symbol::primary_ctx_release)(0);
  EXPECT_EQ(current(), context());
  EXPECT_NO_THROW(device_memory(kKiB));
}

TEST_F(Context, IsNotMadeCurrentByRetaining) {
  std::thread([&] {
    CUcontext retained = nullptr;
    driver().call(symbol::primary_ctx_retain)(&retained, 0);
    EXPECT_EQ(current(), nullptr);
    driver().call(symbol::primary_ctx_release)(0);
  }).join();
}

TEST_F(Context, IsCurrentOnlyOnTheThreadThatPushedIt) {
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    CUdeviceptr device = 0;
    EXPECT_EQ(driver().raw(symbol::mem_alloc)(&device, std::size_t{16}),
              CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

TEST_F(Context, ComesBackWhenAnotherIsPopped) {
  driver().call(symbol::ctx_push_current)(context());
  CUcontext popped = nullptr;
  driver().call(symbol::ctx_pop_current)(&popped);
  EXPECT_EQ(popped, context());
  EXPECT_EQ(current(), context());
}

TEST_F(Context, CannotBePoppedFromAThreadThatHasNone) {
  std::thread([&] {
    CUcontext popped = nullptr;
    EXPECT_EQ(driver().raw(symbol::ctx_pop_current)(&popped), CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

TEST_F(Context, ThatIsNullCannotBePushed) {
  EXPECT_EQ(driver().raw(symbol::ctx_push_current)(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Context, IsIdleAfterItWasSynchronized) {
  const CUstream work = stream();
  const CUdeviceptr device = device_memory(kMiB);
  std::uint8_t* host = pinned_memory(kMiB);
  driver().call(symbol::memcpy_htod_async)(device, host, kMiB, work);
  driver().call(symbol::ctx_synchronize)();
  EXPECT_EQ(query(work), CUDA_SUCCESS);
}

using Errors = Context;

TEST_F(Errors, AreNamedAndDescribed) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver().call(symbol::get_error_name)(CUDA_ERROR_OUT_OF_MEMORY, &name);
  driver().call(symbol::get_error_string)(CUDA_ERROR_OUT_OF_MEMORY, &text);
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_STREQ(text, "out of memory");
}

TEST_F(Errors, TellThatAnEventWasNeverRecorded) {
  float milliseconds = 0;
  EXPECT_EQ(driver().raw(symbol::event_elapsed_time)(&milliseconds, event(), event()),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Errors, TellThatAnEventKeepsNoTime) {
  const CUevent first = event(CU_EVENT_DISABLE_TIMING);
  const CUevent last = event(CU_EVENT_DISABLE_TIMING);
  driver().call(symbol::event_record)(first, nullptr);
  driver().call(symbol::event_record)(last, nullptr);
  synchronize(nullptr);
  float milliseconds = 0;
  EXPECT_EQ(driver().raw(symbol::event_elapsed_time)(&milliseconds, first, last),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Errors, TellThatAnEventWasNotReachedYet) {
  const CUstream work = stream();
  const CUevent first = event();
  const CUevent last = event();
  Gate held = gate();
  driver().call(symbol::event_record)(first, work);
  held.hold(work);
  driver().call(symbol::event_record)(last, work);
  float milliseconds = 0;
  EXPECT_EQ(driver().raw(symbol::event_elapsed_time)(&milliseconds, first, last),
            CUDA_ERROR_NOT_READY);
}

TEST_F(Errors, RefuseAnImageThatIsNone) {
  CUmodule module = nullptr;
  EXPECT_EQ(driver().raw(symbol::module_load_data)(&module, "neither a cubin nor PTX"),
            CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Errors, RefuseADeviceThatDoesNotExist) {
  CUdevice device = 0;
  EXPECT_EQ(driver().raw(symbol::device_get)(&device, driver().device_count()),
            CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Errors, RefuseUnknownFlagsOfStreamsAndEvents) {
  CUstream unwanted_stream = nullptr;
  CUevent unwanted_event = nullptr;
  EXPECT_EQ(driver().raw(symbol::stream_create)(&unwanted_stream, 0x100u),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().raw(symbol::event_create)(&unwanted_event, 0x100u), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace isthmus::contract

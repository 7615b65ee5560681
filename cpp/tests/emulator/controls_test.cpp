// The emulator's controls: failing calls, hidden symbols, the log, the leak check.
#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

class Controlled : public EmulatedMachine {
protected:
  Controlled() { enter(); }

  CUresult try_alloc() {
    CUdeviceptr address = 0;
    return driver().raw(symbol::mem_alloc)(&address, kMiB);
  }
};

using FailCall = Controlled;

TEST_F(FailCall, MakesTheNthCallFailOnceAndWithoutEffect) {
  controls().fail_call("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
  EXPECT_EQ(try_alloc(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(controls().live().device_bytes, kMiB);
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
}

TEST_F(FailCall, CountsOnlyCallsOfItsFunction) {
  controls().fail_call("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_NO_THROW(stream());
  EXPECT_EQ(try_alloc(), CUDA_ERROR_UNKNOWN);
}

TEST_F(FailCall, MayBeAskedForSeveralTimes) {
  controls().fail_call("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN);
  controls().fail_call("cuMemAlloc", 3, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(try_alloc(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
  EXPECT_EQ(try_alloc(), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FailCall, IsForgottenByTheReset) {
  controls().fail_call("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN);
  controls().reset();
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
}

TEST_F(FailCall, IsCountedByTheResetIfNoCallHasFailed) {
  controls().fail_call("cuMemAlloc", 2, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
  EXPECT_EQ(controls().reset(), 1);
  controls().fail_call("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(try_alloc(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(controls().reset(), 0);
}

TEST_F(FailCall, LeavesAFailedFreeForALaterTry) {
  const CUdeviceptr address = device_memory(kMiB);
  controls().fail_call("cuMemFree", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver().raw(symbol::mem_free)(address), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(driver().raw(symbol::mem_free)(address), CUDA_SUCCESS);
}

using SwallowCalls = Controlled;

TEST_F(SwallowCalls, MakesAFunctionSucceedWithoutEffectUntilTheReset) {
  controls().swallow_calls("cuMemAlloc");
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
  EXPECT_EQ(controls().live().device_bytes, 0U);
  controls().reset();
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
  EXPECT_EQ(controls().live().device_bytes, kMiB);
}

TEST_F(SwallowCalls, LetsTheFunctionFailWhereThatWasAskedFor) {
  controls().swallow_calls("cuMemAlloc");
  controls().fail_call("cuMemAlloc", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(try_alloc(), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(try_alloc(), CUDA_SUCCESS);
}

using HideSymbol = Controlled;

TEST_F(HideSymbol, MakesALaterOpenedDriverLackIt) {
  controls().hide_symbol("cuMemGetHandleForAddressRange");
  const Driver later = Driver::open("emulated");
  EXPECT_EQ(later.missing_symbols(), std::vector<std::string>{"cuMemGetHandleForAddressRange"});
  controls().reset();
  EXPECT_TRUE(Driver::open("emulated").missing_symbols().empty());
}

using CallLog = Controlled;

TEST_F(CallLog, IsEmptyUntilItIsStartedAndAfterItIsStartedAgain) {
  try_alloc();
  EXPECT_EQ(call_log(), "");
  controls().log_calls(1);
  try_alloc();
  EXPECT_EQ(call_log(), "cuMemAlloc bytes=1048576 -> 0\n");
  controls().log_calls(1);
  EXPECT_EQ(call_log(), "");
}

TEST_F(CallLog, ShowsOfACopyItsBytesItsHostMemoryItsStreamAndItsResult) {
  const CUdeviceptr device = device_memory(kMiB);
  std::byte* pinned = pinned_memory(kMiB);
  std::vector<std::byte> pageable(kMiB);
  controls().log_calls(1);
  driver().call(symbol::memcpy_htod)(device, pinned, std::size_t{4});
  driver().call(symbol::memcpy_htod_async)(device, pageable.data(), std::size_t{8}, nullptr);
  driver().call(symbol::memcpy_dtoh)(pageable.data(), device, std::size_t{16});
  driver().raw(symbol::memcpy_dtoh_async)(pinned, device, 2 * kMiB, nullptr);
  controls().log_calls(0);
  EXPECT_EQ(call_log(),
            "cuMemcpyHtoD bytes=4 source=pinned stream=0 -> 0\n"
            "cuMemcpyHtoDAsync bytes=8 source=pageable stream=0 -> 0\n"
            "cuMemcpyDtoH bytes=16 target=pageable stream=0 -> 0\n"
            "cuMemcpyDtoHAsync bytes=2097152 -> 1\n");
}

TEST_F(CallLog, NumbersStreamsInTheOrderInWhichTheyWereMade) {
  const CUstream first = stream();
  const CUstream second = stream();
  controls().log_calls(1);
  synchronize(first);
  const std::string of_first = call_log();
  controls().log_calls(1);
  synchronize(second);
  EXPECT_LT(of_first, call_log());
}

TEST_F(CallLog, ShowsInjectedFailures) {
  controls().fail_call("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  controls().log_calls(1);
  try_alloc();
  EXPECT_EQ(call_log(), "cuMemAlloc bytes=1048576 -> 2\n");
}

TEST_F(CallLog, IsCutToTheCapacityAndStillSaysWhatItNeeds) {
  controls().log_calls(1);
  try_alloc();
  char buffer[8] = "xxxxxxx";
  EXPECT_EQ(controls().copy_call_log(buffer, sizeof buffer), call_log().size() + 1);
  EXPECT_STREQ(buffer, "cuMemAl");
}

using Live = Controlled;

TEST_F(Live, CountsWhatExists) {
  const IsthmusEmulatorLive before = controls().live();
  const CUstream work = stream();
  event();
  kernel("spin", "isthmus_spin");
  device_memory(kMiB);
  pinned_memory(2 * kMiB);
  std::vector<std::byte> host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size(), 0u);
  const IsthmusEmulatorLive after = controls().live();
  EXPECT_EQ(after.contexts, before.contexts);
  EXPECT_EQ(after.streams, before.streams + 1);
  EXPECT_EQ(after.events, before.events + 1);
  EXPECT_EQ(after.modules, before.modules + 1);
  EXPECT_EQ(after.device_bytes, before.device_bytes + kMiB);
  EXPECT_EQ(after.pinned_bytes, before.pinned_bytes + 2 * kMiB);
  EXPECT_EQ(after.registered_ranges, before.registered_ranges + 1);
  driver().call(symbol::stream_destroy)(work);
  driver().call(symbol::mem_host_unregister)(host.data());
  EXPECT_EQ(controls().live().streams, before.streams);
  EXPECT_EQ(controls().live().registered_ranges, before.registered_ranges);
}

TEST_F(Live, CountsAreZeroAfterTheLastReleaseOfTheContext) {
  stream();
  event();
  device_memory(kMiB);
  pinned_memory(kMiB);
  kernel("spin", "isthmus_spin");
  driver().call(symbol::primary_ctx_release)(0);
  const IsthmusEmulatorLive live = controls().live();
  EXPECT_EQ(live.contexts + live.streams + live.events + live.modules + live.device_bytes +
                live.pinned_bytes,
            0u);
  CUcontext context = nullptr;
  driver().call(symbol::primary_ctx_retain)(&context, 0);  // released by the fixture
}

}  // namespace
}  // namespace isthmus::emulated

// Copies by a thread that has no context: of a program that uses no other library for CUDA.
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

class CopiesWithoutContext : public TransfersUnderTest {
protected:
  /// Does something in a new thread, for the second time in this process, and counts the driver's
  /// functions.
  template <typename Function>
  std::map<std::string, int> calls_of_second(Function something) {
    const isthmus::test::EmulatorControls controls(driver());
    std::thread([&] {
      something();
      controls.log_calls(1);
      something();
      controls.log_calls(0);
    }).join();
    return isthmus::test::counts_of_calls(controls.call_log());
  }
};

TEST_F(CopiesWithoutContext, AskTheDriverNothingAboutTheDevice) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver counts its calls";
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes host(kMiB);
  auto calls = calls_of_second([&] { upload(device, host); });
  EXPECT_EQ(calls["cuDevicePrimaryCtxRetain"], 0);
  EXPECT_EQ(calls["cuDeviceGetAttribute"], 0);
  EXPECT_EQ(calls["cuDeviceGetName"], 0);
}

TEST_F(CopiesWithoutContext, OfManyMakeOneCurrentOnce) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver counts its calls";
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes host(kMiB);
  std::vector<ManyCopy> copies;
  for (std::size_t i = 0; i < 100; ++i)
    copies.push_back({to_pointer(device + i * 4096), host.data() + i * 4096, 4096, {}});
  auto calls = calls_of_second([&] { transfers().copy_many(copies); });
  EXPECT_EQ(calls["cuDevicePrimaryCtxRetain"], 0);
  EXPECT_EQ(calls["cuDeviceGetName"], 0);
  EXPECT_LT(calls["cuCtxPushCurrent"], 10);
}

TEST_F(CopiesWithoutContext, WithinTheHostsMemoryKeepTheContextThatTheyNeeded) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver counts its calls";
  const Bytes source = pattern(kMiB, 1);
  Bytes target(kMiB);
  auto calls = calls_of_second([&] { transfers().copy(target.data(), source.data(), kMiB); });
  EXPECT_EQ(calls["cuDevicePrimaryCtxRetain"], 0);
  EXPECT_EQ(target, source);
}

}  // namespace
}  // namespace isthmus::transfer

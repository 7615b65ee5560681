// Every driver call that an operation makes fails once; then leaks are checked.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "device/buffers.hpp"
#include "emulator_controls.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/latency/latency.hpp"
#include "measure/latency/small_transfer.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus {
namespace {

using namespace measure;

constexpr Stopping kShort{.min_samples = 1, .max_samples = 1, .max_seconds = 0};
constexpr int kIllegalAddress = 700;

struct Operation {
  const char* name;
  std::function<void(const Context&, const Kernels&)> run;
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << operation.name;
}

void bandwidth(const Context& context, const Kernels& kernels, HostMemory memory,
               Direction direction) {
  CopyBuffers buffers(context, memory, 8192, std::nullopt);
  measure_bandwidth(buffers, &kernels, {direction, 8192, memory == HostMemory::pinned, kShort});
}

void latency(const Context& context, const Kernels& kernels, Method method, Direction direction) {
  CopyBuffers buffers(context, HostMemory::pinned, 64, std::nullopt);
  LatencyOptions options{direction, method, 4, kShort};
  options.answer_timeout = std::chrono::seconds(5);
  measure_latency(buffers, &kernels, options);
}

std::vector<Operation> operations() {
  return {
      {"blocked_bandwidth",
       [](const Context& c, const Kernels& k) {
         bandwidth(c, k, HostMemory::pinned, Direction::host_to_device);
       }},
      {"unblocked_bandwidth",
       [](const Context& c, const Kernels& k) {
         bandwidth(c, k, HostMemory::pageable, Direction::device_to_host);
       }},
      {"async_latency",
       [](const Context& c, const Kernels& k) {
         latency(c, k, Method::async, Direction::device_to_host);
       }},
      {"blocking_latency",
       [](const Context& c, const Kernels& k) {
         latency(c, k, Method::blocking, Direction::host_to_device);
       }},
      {"batch_latency",
       [](const Context& c, const Kernels& k) {
         latency(c, k, Method::batch, Direction::host_to_device);
       }},
      {"graph_latency",
       [](const Context& c, const Kernels& k) {
         latency(c, k, Method::graph, Direction::device_to_host);
       }},
      {"kernel_latency",
       [](const Context& c, const Kernels& k) {
         latency(c, k, Method::kernel, Direction::host_to_device);
       }},
      {"kernel_then_copy",
       [](const Context& c, const Kernels& k) {
         measure_kernel_then_copy(c, &k, LoopClock::device, {64, 5, std::nullopt, kShort});
       }},
      {"copy_kernel_copy",
       [](const Context& c, const Kernels& k) {
         measure_copy_kernel_copy(c, &k, {64, 5, std::nullopt, kShort});
       }},
  };
}

class FaultSweep : public testing::TestWithParam<Operation> {
protected:
  void TearDown() override { controls_.reset(); }

  /// How often the operation calls each function, from the emulator's log.
  std::map<std::string, int> calls_of(const Context& context, const Kernels& kernels) {
    controls_.log_calls(1);
    GetParam().run(context, kernels);
    controls_.log_calls(0);
    return test::counts_of_calls(controls_.call_log());
  }

  test::EmulatorControls controls_{test::driver()};
};

/// Calls in destructors can't throw, and attribute queries may be answered from a cache.
bool throws(const std::string& symbol) {
  static const std::set<std::string> quiet{
      "cuGraphDestroy", "cuGraphExecDestroy", "cuStreamDestroy",          "cuEventDestroy",
      "cuMemFree",      "cuMemFreeHost",      "cuModuleUnload",           "cuCtxPopCurrent",
      "cuGetErrorName", "cuGetErrorString",   "cuDevicePrimaryCtxRelease"};
  return !quiet.contains(symbol);
}

TEST_P(FaultSweep, AnyFailingCallIsReportedWithItsCodeAndLeaksNothing) {
  const Context context = test::context();
  const Kernels kernels(context, {});
  const auto calls = calls_of(context, kernels);  // also loads every module
  ASSERT_GT(calls.size(), 8U);
  const IsthmusEmulatorLive before = controls_.live();
  int num_thrown = 0;
  for (const auto& [symbol, count] : calls) {
    if (!throws(symbol)) continue;
    // The first, the last, and some between: loops repeat the same call site.
    for (const int nth : std::set<int>{1, 2, 3, count / 2, count}) {
      if (nth < 1 || nth > count) continue;
      SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
      controls_.fail_call(symbol.c_str(), nth, kIllegalAddress);
      try {
        GetParam().run(context, kernels);
      } catch (const DriverError& error) {
        EXPECT_EQ(error.code(), kIllegalAddress);
        EXPECT_EQ(error.code_name(), "CUDA_ERROR_ILLEGAL_ADDRESS");
        ++num_thrown;
      }
      controls_.reset();
      EXPECT_EQ(controls_.live(), before);
    }
  }
  EXPECT_GT(num_thrown, 10);
  EXPECT_NO_THROW(GetParam().run(context, kernels)) << "nothing may stay broken";
}

INSTANTIATE_TEST_SUITE_P(Operations, FaultSweep, testing::ValuesIn(operations()),
                         [](const auto& test) { return test.param.name; });

TEST(Faults, OutOfMemoryIsItsOwnErrorAndTakesNothing) {
  const test::EmulatorControls controls(test::driver());
  const Context context = test::context();
  const IsthmusEmulatorLive before = controls.live();
  for (const char* symbol : {"cuMemAlloc", "cuMemHostAlloc"}) {
    controls.fail_call(symbol, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW(CopyBuffers(context, HostMemory::pinned, 4096, std::nullopt), OutOfDeviceMemory)
        << symbol;
    EXPECT_EQ(controls.live(), before);
  }
}

TEST(Faults, ADeviceThatRefusesToWaitForValuesIsHeldByAKernelInstead) {
  const test::EmulatorControls controls(test::driver());
  const Context context = test::context();
  controls.fail_call("cuStreamWaitValue32", 1, CUDA_ERROR_NOT_SUPPORTED);
  CopyBuffers buffers(context, HostMemory::pinned, 4096, std::nullopt);
  controls.log_calls(1);
  measure_bandwidth(buffers, &test::kernels(), {Direction::host_to_device, 4096, true, kShort});
  controls.log_calls(0);
  EXPECT_NE(controls.call_log().find("isthmus_gate"), std::string::npos);
  controls.fail_call("cuStreamWaitValue32", 1, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THROW(measure_bandwidth(buffers, nullptr, {Direction::host_to_device, 4096, true, kShort}),
               Unavailable);
  controls.reset();
}

TEST(Faults, CopiesThatStopArrivingAreNoticedBetweenTheMetrics) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  buffers.prepare(nullptr);
  VerifiedSampling sampling(buffers, nullptr, Direction::host_to_device, 4096, kShort);
  const Copy copy(buffers, Direction::host_to_device, 4096);
  const CurrentContext current(buffers.context());
  Measurement measurement;
  sampling.add(measurement, "arrives", 1, [&] {
    copy.blocking();
    return 1.0;
  });
  EXPECT_THROW(sampling.add(measurement, "does not", 1, [] { return 1.0; }), CorruptTransfer);
  ASSERT_EQ(measurement.samples.size(), 1U);
  EXPECT_EQ(measurement.samples[0].metric, "arrives");
}

TEST(Faults, AFailedCleanupIsHeardAndNotThrown) {
  const test::EmulatorControls controls(test::driver());
  std::vector<std::string> heard;
  const CleanupSink old =
      set_cleanup_sink([&](const std::string& message) { heard.push_back(message); });
  {
    const Stream stream(test::context());
    controls.fail_call("cuStreamDestroy", 1, kIllegalAddress);
  }
  set_cleanup_sink(old);
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0], "cuStreamDestroy failed while cleaning up: CUDA_ERROR_ILLEGAL_ADDRESS");
  controls.reset();
}

TEST(Faults, AMeasurementNeverCopiesTheWrongWay) {
  const test::EmulatorControls controls(test::driver());
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  const auto log_of = [&](Direction direction) {
    buffers.prepare(&test::kernels());
    const CurrentContext current(buffers.context());
    controls.log_calls(1);
    const Copy copy(buffers, direction, 4096);
    copy.blocking();
    copy.enqueue(nullptr);
    test::driver().call(symbol::stream_synchronize)(nullptr);
    controls.log_calls(0);
    return controls.call_log();
  };
  const std::string up = log_of(Direction::host_to_device);
  EXPECT_NE(up.find("cuMemcpyHtoD "), std::string::npos) << up;
  EXPECT_NE(up.find("cuMemcpyHtoDAsync "), std::string::npos) << up;
  EXPECT_EQ(up.find("DtoH"), std::string::npos) << up;
  const std::string down = log_of(Direction::device_to_host);
  EXPECT_NE(down.find("cuMemcpyDtoH "), std::string::npos) << down;
  EXPECT_NE(down.find("cuMemcpyDtoHAsync "), std::string::npos) << down;
  EXPECT_EQ(down.find("HtoD"), std::string::npos) << down;
}

}  // namespace
}  // namespace isthmus

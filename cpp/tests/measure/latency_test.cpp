// Every way to make a small copy, on any driver.
#include "measure/latency/latency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

using Names = std::set<std::string>;

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};
constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;

Names measured(const Measurement& measurement) {
  Names names;
  for (const Samples& samples : measurement.samples) {
    EXPECT_GE(*std::ranges::min_element(samples.seconds), 0) << samples.metric;
    names.insert(samples.metric);
  }
  return names;
}

Names waived(const Measurement& measurement) {
  Names names;
  for (const auto& [metric, reason] : measurement.waived) names.insert(metric);
  return names;
}

struct Way {
  Method method;
  Direction direction;
  const char* name;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

class SmallCopies : public testing::TestWithParam<Way> {
protected:
  static HostMemory memory() {
    return GetParam().method == Method::blocking ? HostMemory::pageable : HostMemory::pinned;
  }

  Measurement measure(std::size_t size_bytes, bool cold = false) {
    LatencyOptions options;
    options.direction = GetParam().direction;
    options.method = GetParam().method;
    options.size_bytes = size_bytes;
    options.stopping = kQuick;
    options.cold = cold;
    options.windows = &windows_;
    return measure_latency(buffers_, &test::kernels(), options);
  }

  Windows windows_{test::driver()};
  CopyBuffers buffers_{test::context(), memory(), kBufferBytes, std::nullopt};
};

TEST_P(SmallCopies, HaveEachLatencyOrAReasonWhyNot) {
  const Names all{"api_return",  "completion", "event_delta",
                  "event_floor", "visible",    "reciprocal_throughput"};
  for (const std::size_t size_bytes : {1UL, 4UL, 4097UL, 65536UL}) {
    const Measurement found = measure(size_bytes);
    Names named = measured(found);
    EXPECT_TRUE(named.contains("completion"));
    EXPECT_EQ(found.waived.contains("visible"), !named.contains("visible"));
    named.merge(waived(found));
    EXPECT_EQ(named, all) << size_bytes;
  }
}

TEST_P(SmallCopies, OfColdBytesAreNotTimedBackToBack) {
  const Measurement found = measure(4096, true);
  EXPECT_TRUE(measured(found).contains("completion"));
  EXPECT_NE(found.waived.at("reciprocal_throughput").find("warm only"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Latency, SmallCopies,
    testing::Values(Way{Method::blocking, Direction::host_to_device, "blocking_h2d"},
                    Way{Method::blocking, Direction::device_to_host, "blocking_d2h"},
                    Way{Method::async, Direction::host_to_device, "async_h2d"},
                    Way{Method::async, Direction::device_to_host, "async_d2h"},
                    Way{Method::batch, Direction::host_to_device, "batch_h2d"},
                    Way{Method::batch, Direction::device_to_host, "batch_d2h"},
                    Way{Method::graph, Direction::host_to_device, "graph_h2d"},
                    Way{Method::graph, Direction::device_to_host, "graph_d2h"},
                    Way{Method::kernel, Direction::host_to_device, "kernel_h2d"},
                    Way{Method::kernel, Direction::device_to_host, "kernel_d2h"},
                    Way{Method::window, Direction::host_to_device, "window_h2d"},
                    Way{Method::window, Direction::device_to_host, "window_d2h"}),
    [](const auto& test) { return test.param.name; });

LatencyOptions options_of(Method method, Direction direction) {
  LatencyOptions options;
  options.direction = direction;
  options.method = method;
  options.size_bytes = 64;
  options.stopping = kQuick;
  return options;
}

TEST(Latency, OfACopyThroughAWindowHasNoEventsAndSaysWhy) {
  Windows windows(test::driver());
  CopyBuffers buffers(test::context(), HostMemory::pinned, kBufferBytes, std::nullopt);
  LatencyOptions options = options_of(Method::window, Direction::host_to_device);
  options.windows = &windows;
  const Measurement found = measure_latency(buffers, &test::kernels(), options);
  EXPECT_EQ(waived(found), (Names{"event_delta", "event_floor"}));
  EXPECT_NE(found.waived.at("event_delta").find("GPU events"), std::string::npos);
  options.direction = Direction::device_to_host;
  EXPECT_EQ(waived(measure_latency(buffers, &test::kernels(), options)),
            (Names{"api_return", "event_delta", "event_floor", "visible"}));
}

TEST(Latency, OfAMissingFeatureIsUnavailable) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  for (const Method method : {Method::kernel, Method::window}) {
    EXPECT_THROW(measure_latency(buffers, nullptr, options_of(method, Direction::host_to_device)),
                 Unavailable);
  }
}

TEST(Latency, OfABatchNeedsADriverThatHasThem) {
  if (!test::driver().emulated()) GTEST_SKIP() << "needs an older driver";
  const test::EmulatorControls controls(test::driver());
  controls.hide_symbol("cuMemcpyBatchAsync");
  const Driver older = Driver::open("emulated:" + test::driver().profile());
  controls.reset();
  CopyBuffers buffers(Context::retain(older, 0), HostMemory::pinned, 4096, std::nullopt);
  try {
    measure_latency(buffers, nullptr, options_of(Method::batch, Direction::host_to_device));
    FAIL() << "there are no batches to measure";
  } catch (const Unavailable& absence) {
    EXPECT_EQ(absence.needs(), "a driver for CUDA 12.8 or later");
  }
}

TEST(Latency, RefusesPageableMemoryWhereOnlyPinnedCanBeCopied) {
  CopyBuffers buffers(test::context(), HostMemory::pageable, 4096, std::nullopt);
  for (const Method method : {Method::batch, Method::graph, Method::kernel}) {
    EXPECT_THROW(
        measure_latency(buffers, &test::kernels(), options_of(method, Direction::host_to_device)),
        UsageError);
  }
}

struct Swallowed {
  const char* symbol;
  Method method;
  Direction direction;
  const char* name;
};

std::ostream& operator<<(std::ostream& out, const Swallowed& one) { return out << one.name; }

class ACopyThatNeverHappened : public testing::TestWithParam<Swallowed> {
protected:
  void SetUp() override {
    if (!test::driver().emulated()) GTEST_SKIP() << "real drivers copy what they are asked to";
  }
};

TEST_P(ACopyThatNeverHappened, GivesNoLatency) {
  const auto& [symbol, method, direction, name] = GetParam();
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  buffers.prepare(&test::kernels());
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls(symbol);
  EXPECT_THROW(measure_latency(buffers, &test::kernels(), options_of(method, direction)),
               CorruptTransfer);
  controls.reset();
}

INSTANTIATE_TEST_SUITE_P(
    Latency, ACopyThatNeverHappened,
    testing::Values(
        Swallowed{"cuMemcpyHtoD", Method::blocking, Direction::host_to_device, "blocking_h2d"},
        Swallowed{"cuMemcpyDtoH", Method::blocking, Direction::device_to_host, "blocking_d2h"},
        Swallowed{"cuMemcpyHtoDAsync", Method::async, Direction::host_to_device, "async_h2d"},
        Swallowed{"cuMemcpyDtoHAsync", Method::async, Direction::device_to_host, "async_d2h"},
        Swallowed{"cuMemcpyBatchAsync", Method::batch, Direction::host_to_device, "batch_h2d"},
        Swallowed{"cuMemcpyBatchAsync", Method::batch, Direction::device_to_host, "batch_d2h"},
        Swallowed{"cuGraphLaunch", Method::graph, Direction::host_to_device, "graph_h2d"},
        Swallowed{"cuGraphLaunch", Method::graph, Direction::device_to_host, "graph_d2h"},
        Swallowed{"cuLaunchKernel", Method::kernel, Direction::host_to_device, "kernel_h2d"},
        Swallowed{"cuLaunchKernel", Method::kernel, Direction::device_to_host, "kernel_d2h"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace isthmus::measure

// The loops on any driver. Times are only checked for plausibility and order.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/latency/latency.hpp"
#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

using namespace std::chrono_literals;

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};

std::set<std::string> metrics(const Measurement& measurement) {
  std::set<std::string> names;
  for (const Samples& samples : measurement.samples) names.insert(samples.metric);
  return names;
}

double least(const Measurement& measurement, const std::string& metric) {
  for (const Samples& samples : measurement.samples) {
    if (samples.metric == metric)
      return *std::min_element(samples.seconds.begin(), samples.seconds.end());
  }
  ADD_FAILURE() << "no metric " << metric;
  return 0;
}

struct Way {
  HostMemory memory;
  Direction direction;
  const char* name;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

class EveryWay : public testing::TestWithParam<Way> {};

TEST_P(EveryWay, OfCopyingIsMeasuredAndVerifiedForOddSizes) {
  CopyBuffers buffers(test::context(), GetParam().memory, 1 << 20, std::nullopt);
  for (const std::size_t size_bytes : {1UL, 4UL, 4097UL, 1UL << 20U}) {
    const Measurement measurement = measure_bandwidth(
        buffers, &test::kernels(),
        {GetParam().direction, size_bytes, GetParam().memory == HostMemory::pinned, kQuick});
    ASSERT_EQ(measurement.samples.size(), 1U);
    EXPECT_EQ(measurement.samples[0].metric, "copy_time");
    EXPECT_GT(least(measurement, "copy_time"), 0);
    EXPECT_GT(measurement.first_call_seconds, 0);
    EXPECT_EQ(measurement.verified_on, GetParam().direction == Direction::host_to_device
                                           ? VerifiedOn::device
                                           : VerifiedOn::host);
  }
}

TEST_P(EveryWay, OfCopyingCanBeMeasuredWithoutKernels) {
  CopyBuffers buffers(test::context(), GetParam().memory, 100000, std::nullopt);
  const Measurement measurement = measure_bandwidth(
      buffers, nullptr,
      {GetParam().direction, 99999, GetParam().memory == HostMemory::pinned, kQuick});
  EXPECT_EQ(measurement.verified_on, VerifiedOn::host);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, EveryWay,
    testing::Values(Way{HostMemory::pinned, Direction::host_to_device, "pinned_h2d"},
                    Way{HostMemory::pinned, Direction::device_to_host, "pinned_d2h"},
                    Way{HostMemory::pageable, Direction::host_to_device, "pageable_h2d"},
                    Way{HostMemory::pageable, Direction::device_to_host, "pageable_d2h"}),
    [](const auto& test) { return test.param.name; });

TEST(Bandwidth, IsNotVerifiedIfTheRuleSaysSo) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 1 << 16, std::nullopt);
  Stopping unverified = kQuick;
  unverified.verify = false;
  const BandwidthOptions options{Direction::host_to_device, 1 << 16, true, unverified};
  EXPECT_EQ(measure_bandwidth(buffers, &test::kernels(), options).verified_on, VerifiedOn::nobody);
}

TEST(Bandwidth, RefusesToHoldPageableCopiesBehindAGate) {
  CopyBuffers buffers(test::context(), HostMemory::pageable, 4096, std::nullopt);
  EXPECT_THROW(measure_bandwidth(buffers, nullptr, {Direction::host_to_device, 4096, true, kQuick}),
               UsageError);
}

TEST(Bandwidth, RefusesSizesThatTheBuffersDoNotHold) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  EXPECT_THROW(measure_bandwidth(buffers, nullptr, {Direction::host_to_device, 4097, true, kQuick}),
               UsageError);
  EXPECT_THROW(measure_bandwidth(buffers, nullptr, {Direction::host_to_device, 0, true, kQuick}),
               UsageError);
}

TEST(CopyBuffers, NoticeACopyThatNeverHappened) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
    buffers.prepare(&test::kernels());
    buffers.poison(direction, 4096);
    EXPECT_THROW(buffers.verify(direction, 4096, &test::kernels()), CorruptTransfer);
    EXPECT_THROW(buffers.verify(direction, 4096, nullptr), CorruptTransfer);
  }
}

TEST(Latency, OfABlockingCopyHasFiveNamedMetricsAndAFloor) {
  CopyBuffers buffers(test::context(), HostMemory::pageable, 4096, std::nullopt);
  const Measurement measurement = measure_latency(
      buffers, &test::kernels(), {Direction::host_to_device, Method::blocking, 4, kQuick});
  EXPECT_EQ(metrics(measurement),
            (std::set<std::string>{"api_return", "completion", "event_delta", "event_floor",
                                   "reciprocal_throughput", "visible"}));
  EXPECT_GT(least(measurement, "completion"), 0);
  EXPECT_TRUE(measurement.waived.empty());
}

TEST(Latency, OfAnAsyncCopyToTheHostIsSeenByPolling) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  const Measurement measurement =
      measure_latency(buffers, nullptr, {Direction::device_to_host, Method::async, 64, kQuick});
  EXPECT_GT(least(measurement, "visible"), 0);
}

TEST(Latency, WaivesVisibleWithAReasonWhereItMeansNothing) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, 4096, std::nullopt);
  const auto reason = [&](Direction direction, Method method, std::size_t size_bytes,
                          const Kernels* kernels) {
    const Measurement measurement =
        measure_latency(buffers, kernels, {direction, method, size_bytes, kQuick});
    EXPECT_FALSE(metrics(measurement).contains("visible"));
    return measurement.waived.at("visible");
  };
  EXPECT_NE(reason(Direction::host_to_device, Method::async, 4, nullptr).find("NVRTC"),
            std::string::npos);
  EXPECT_NE(reason(Direction::device_to_host, Method::blocking, 4, nullptr).find("completion"),
            std::string::npos);
  EXPECT_NE(reason(Direction::device_to_host, Method::async, 3, nullptr).find("4 bytes"),
            std::string::npos);
}

TEST(Latency, OfACallThatReturnsWhenCompleteIsItsCompletion) {
  CopyBuffers buffers(test::context(), HostMemory::pageable, 4096, std::nullopt);
  const Measurement measurement =
      measure_latency(buffers, nullptr, {Direction::device_to_host, Method::blocking, 4, kQuick});
  EXPECT_TRUE(metrics(measurement).contains("completion"));
  EXPECT_NE(measurement.waived.at("api_return").find("see completion"), std::string::npos);
}

TEST(Gate, HoldsAStreamUntilItIsReleased) {
  const Context context = test::context();
  const CurrentContext current(context);
  const Stream stream(context);
  Gate gate(context, &test::kernels(), 30s);
  for (int round = 0; round < 3; ++round) {
    gate.hold(stream.handle());
    EXPECT_FALSE(stream.idle());
    gate.release();
    stream.synchronize();
    EXPECT_TRUE(stream.idle());
  }
}

TEST(Gate, ThatIsNeverReleasedIsOpenedByItsTimeout) {
  const Context context = test::context();
  const CurrentContext current(context);
  const Stream stream(context);
  Gate gate(context, &test::kernels(), 300ms);
  gate.hold(stream.handle());
  stream.synchronize();  // would never return without the watchdog
  EXPECT_THROW(gate.release(), TimedOut);
  gate.hold(stream.handle());
  EXPECT_NO_THROW(gate.release()) << "a gate must be usable again after a timeout";
  stream.synchronize();
}

TEST(Gate, ThatGoesWhileHeldLetsTheStreamGo) {
  const Context context = test::context();
  const CurrentContext current(context);
  const Stream stream(context);
  {
    Gate gate(context, &test::kernels(), 60s);
    gate.hold(stream.handle());
  }
  stream.synchronize();
  EXPECT_TRUE(stream.idle());
}

}  // namespace
}  // namespace isthmus::measure

// The loops through windows on any driver. Times are only checked for plausibility.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "host/cpu/cpu_list.hpp"
#include "measure/latency/latency.hpp"
#include "measure/loops/flags.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/window/window_buffers.hpp"
#include "measure/window/window_loops.hpp"

namespace isthmus::measure {
namespace {

using namespace std::chrono_literals;
using Names = std::set<std::string>;

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};

Names metrics(const Measurement& measurement) {
  Names names;
  for (const Samples& samples : measurement.samples) {
    EXPECT_GE(samples.seconds.size(), 3U) << samples.metric;
    EXPECT_GE(*std::ranges::min_element(samples.seconds), 0) << samples.metric;
    names.insert(samples.metric);
  }
  return names;
}

/// All tests here need windows; without them, the reason is tested.
class MeasuredWindows : public testing::Test {
protected:
  void SetUp() override {
    const auto reports = windows_.backends(0);
    const bool usable = std::ranges::any_of(reports, [](const auto& r) { return r.usable; });
    if (!usable) GTEST_SKIP() << "no window backend on this machine";
  }

  WindowCopyOptions copies(std::size_t size_bytes, bool cold = false, int num_threads = 1) const {
    return {size_bytes, cold, {num_threads, std::nullopt}, kQuick};
  }

  Context context_ = test::context();
  Windows windows_{test::driver(), {}};
};

TEST_F(MeasuredWindows, WritesAreTimedFencedPostedAndBesideMemcpyForOddSizes) {
  for (const std::size_t size_bytes : {1UL, 63UL, 4097UL, 100'000UL}) {
    const Measurement found = measure_window_write(context_, windows_, copies(size_bytes));
    EXPECT_EQ(metrics(found), (Names{"fenced", "posted", "memcpy_pinned", "memcpy_pageable"}));
    EXPECT_GT(found.first_call_seconds, 0);
    EXPECT_EQ(found.verified_on, VerifiedOn::host);
  }
}

TEST_F(MeasuredWindows, WritesFromColdMemoryAreNotPosted) {
  const Measurement found = measure_window_write(context_, windows_, copies(256, true));
  EXPECT_EQ(metrics(found), (Names{"fenced", "memcpy_pinned", "memcpy_pageable"}));
  EXPECT_EQ(found.samples[0].copies_per_sample, 64U)
      << "as many cold pieces as are evicted at once";
}

TEST_F(MeasuredWindows, WritesBySeveralThreadsAreComparedWithThoseOfOne) {
  EXPECT_EQ(metrics(measure_window_write(context_, windows_, copies(1 << 20, false, 2))),
            Names{"fenced"});
  EXPECT_EQ(metrics(measure_window_read(context_, windows_, copies(1 << 20, false, 2))),
            Names{"complete"});
}

TEST_F(MeasuredWindows, ReadsAreTimedWarmAndColdForOddSizes) {
  for (const bool cold : {false, true}) {
    for (const std::size_t size_bytes : {1UL, 63UL, 4097UL, 100'000UL}) {
      const Measurement found = measure_window_read(context_, windows_, copies(size_bytes, cold));
      EXPECT_EQ(metrics(found), (Names{"complete", "memcpy_pinned", "memcpy_pageable"}));
    }
  }
}

TEST_F(MeasuredWindows, RefuseCopiesOfNothing) {
  EXPECT_THROW(measure_window_write(context_, windows_, copies(0)), UsageError);
  EXPECT_THROW(measure_window_read(context_, windows_, copies(0)), UsageError);
  EXPECT_THROW(measure_window_bandwidth(context_, {Direction::host_to_device, 0, {}, {}, kQuick}),
               UsageError);
  EXPECT_THROW(measure_window_lifecycle(context_, {3, kQuick}), UsageError);
}

TEST_F(MeasuredWindows, BuffersNoticeAWriteThatNeverHappened) {
  WindowBuffers buffers(context_, windows_, 4096, {});
  buffers.check_device(0, buffers.reference(), 4096);
  buffers.poison_device();
  EXPECT_THROW(buffers.check_device(0, buffers.reference(), 1), CorruptTransfer);
  EXPECT_THROW(buffers.check_device(4095, buffers.reference() + 4095, 1), CorruptTransfer);
  buffers.restore_device();
  buffers.check_device(4095, buffers.reference() + 4095, 1);
}

TEST_F(MeasuredWindows, BuffersNoticeAReadThatBroughtOtherBytes) {
  WindowBuffers buffers(context_, windows_, 4096, {});
  buffers.check_host(buffers.pinned(), 4096);
  buffers.pinned()[4095] ^= std::byte{1};
  EXPECT_THROW(buffers.check_host(buffers.pinned(), 4096), CorruptTransfer);
  buffers.check_host(buffers.pinned(), 4095);
}

TEST_F(MeasuredWindows, BuffersHoldOtherBytesEachTime) {
  const WindowBuffers first(context_, windows_, 64, {});
  const WindowBuffers second(context_, windows_, 64, {});
  EXPECT_NE(std::memcmp(first.reference(), second.reference(), 64), 0);
}

TEST_F(MeasuredWindows, BandwidthIsTheTimeOfACopyInEachDirectionByAnyNumberOfThreads) {
  for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
    for (const int num_threads : {1, 2}) {
      const Measurement found = measure_window_bandwidth(
          context_, {direction, 1 << 20, {num_threads, std::nullopt}, {}, kQuick});
      EXPECT_EQ(metrics(found), Names{"copy_time"});
      EXPECT_EQ(found.samples[0].copies_per_sample, 16U);
    }
  }
}

TEST_F(MeasuredWindows, BandwidthOfANodeThatIsNotThereIsRefused) {
  EXPECT_THROW(
      measure_window_bandwidth(context_, {Direction::host_to_device, 4096, {1, 12345}, {}, kQuick}),
      UsageError);
}

TEST_F(MeasuredWindows, BandwidthOnChosenCpusLeavesTheThreadWhereItWas) {
  const std::vector<int> before = host::allowed_cpus();
  ASSERT_FALSE(before.empty());
  const std::vector<int> one{before.back()};
  WindowBandwidthOptions options{Direction::host_to_device, 4096, {}, one, kQuick};
  EXPECT_EQ(metrics(measure_window_bandwidth(context_, options)), Names{"copy_time"});
  EXPECT_EQ(host::allowed_cpus(), before);
  options.cpus = {1 << 20};
  EXPECT_THROW(measure_window_bandwidth(context_, options), Unavailable);
  EXPECT_EQ(host::allowed_cpus(), before);
}

TEST_F(MeasuredWindows, EachLifeOfAWindowHasEveryStep) {
  const Measurement found = measure_window_lifecycle(context_, {64 << 10, kQuick});
  Names expected{"open_new",    "pin",   "map",   "first_store", "first_load",
                 "open_cached", "close", "unmap", "unpin",       "memcpy_4_bytes"};
  for (const auto& [metric, reason] : found.waived) {
    EXPECT_EQ(metric, "unpin") << reason;
    expected.erase(metric);
  }
  EXPECT_EQ(metrics(found), expected);
  for (const Samples& samples : found.samples) {
    EXPECT_EQ(samples.seconds.size(), found.samples[0].seconds.size()) << samples.metric;
    EXPECT_GT(*std::ranges::min_element(samples.seconds), 0) << samples.metric;
  }
  EXPECT_GT(found.first_call_seconds, 0);
}

TEST_F(MeasuredWindows, StepsOfABackendTakeNoLongerThanWhatTheyArePartOf) {
  const Measurement found = measure_window_lifecycle(context_, {64 << 10, kQuick});
  std::map<std::string, std::vector<double>> seconds;
  for (const Samples& samples : found.samples) seconds[samples.metric] = samples.seconds;
  for (std::size_t life = 0; life < seconds["open_new"].size(); ++life) {
    EXPECT_LE(seconds["pin"][life] + seconds["map"][life], seconds["open_new"][life]);
    const double unpin = seconds.contains("unpin") ? seconds["unpin"][life] : 0;
    EXPECT_LE(seconds["unmap"][life] + unpin, seconds["close"][life]);
  }
}

TEST_F(MeasuredWindows, UnpinIsWaivedWhereUnmappingLetsGoOfTheMemory) {
  const DeviceBuffer buffer(context_, 4096);
  const WindowBackend backend = windows_.open(buffer.pointer(), 4096).backend();
  const Measurement found = measure_window_lifecycle(context_, {64 << 10, kQuick});
  EXPECT_EQ(found.waived.contains("unpin"), backend == WindowBackend::dmabuf);
}

struct Game {
  Residence question;
  Residence answer;
  std::optional<Residence> data;
  std::size_t data_bytes;
};

class PingPong : public MeasuredWindows, public testing::WithParamInterface<Game> {};

TEST_P(PingPong, GoesThereAndBackWithEveryByteVerified) {
  PingPongOptions options;
  options.question = GetParam().question;
  options.answer = GetParam().answer;
  options.data = GetParam().data;
  options.data_bytes = GetParam().data_bytes;
  options.stopping = kQuick;
  const Measurement found = measure_window_ping_pong(context_, windows_, &test::kernels(), options);
  EXPECT_EQ(metrics(found), Names{"round_trip"});
  EXPECT_GT(found.samples[0].seconds[0], 0);
}

constexpr Residence kDevice = Residence::device;
constexpr Residence kPinned = Residence::pinned;
INSTANTIATE_TEST_SUITE_P(
    Placements, PingPong,
    testing::Values(Game{kDevice, kDevice, {}, 0}, Game{kDevice, kPinned, {}, 0},
                    Game{kPinned, kDevice, {}, 0}, Game{kPinned, kPinned, {}, 0},
                    Game{kDevice, kPinned, kDevice, 64}, Game{kDevice, kPinned, kPinned, 4096},
                    Game{kPinned, kDevice, kDevice, 4100}, Game{kPinned, kPinned, kPinned, 64}));

TEST_F(MeasuredWindows, PingPongNeedsKernelsAndDataThatFitTheirOptions) {
  PingPongOptions options;
  options.stopping = kQuick;
  EXPECT_THROW(measure_window_ping_pong(context_, windows_, nullptr, options), Unavailable);
  options.data_bytes = 64;
  EXPECT_THROW(measure_window_ping_pong(context_, windows_, &test::kernels(), options), UsageError);
  options.data = Residence::device;
  options.data_bytes = 6;
  EXPECT_THROW(measure_window_ping_pong(context_, windows_, &test::kernels(), options), UsageError);
}

TEST_F(MeasuredWindows, AKernelPushesEverySizeHomeLaunchedAndAsked) {
  for (const std::size_t size_bytes : {1UL, 7UL, 4097UL, 300'000UL}) {
    const Measurement found =
        measure_kernel_push(context_, windows_, &test::kernels(), {size_bytes, kQuick, 5s});
    EXPECT_EQ(metrics(found), (Names{"launched", "asked"}));
  }
  EXPECT_THROW(measure_kernel_push(context_, windows_, nullptr, {64, kQuick, 5s}), Unavailable);
}

TEST(WindowsThatAreOff, LeaveNothingToMeasureButALaunchedPush) {
  const Context context = test::context();
  WindowSettings off;
  off.backend = "off";
  Windows windows(test::driver(), off);
  const WindowCopyOptions options{64, false, {}, kQuick};
  EXPECT_THROW(measure_window_write(context, windows, options), Unavailable);
  EXPECT_THROW(measure_window_read(context, windows, options), Unavailable);
  const Measurement found =
      measure_kernel_push(context, windows, &test::kernels(), {64, kQuick, 5s});
  EXPECT_EQ(metrics(found), Names{"launched"});
  EXPECT_FALSE(found.waived.at("asked").empty());
}

TEST(HostRegions, AreOnePieceWhenWarmAndManyWhenCold) {
  const HostRegions warm(100, false, std::nullopt);
  const HostRegions cold(100, true, std::nullopt);
  EXPECT_EQ(warm.count(), 1U);
  EXPECT_EQ(cold.count(), 64U);
  EXPECT_EQ(HostRegions(64 << 20, true, std::nullopt).count(), 1U);
}

TEST(HostRegions, HoldTheSameBytesAfterTheyWereEvicted) {
  const HostRegions cold(3, true, std::nullopt);
  const std::byte bytes[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  cold.fill(bytes);
  cold.make_ready();
  for (std::size_t i = 0; i < cold.count(); ++i) EXPECT_EQ(std::memcmp(cold[i], bytes, 3), 0);
}

TEST(Await, EndsAtItsTimeoutAndNamesTheMissingAnswer) {
  alignas(4) std::byte word[4] = {};
  try {
    await(flag_at(word), 1, 1ms, "the answer of nobody");
    FAIL();
  } catch (const TimedOut& late) {
    EXPECT_NE(std::string(late.what()).find("the answer of nobody"), std::string::npos);
  }
  flag_at(word).store(1);
  await(flag_at(word), 1, 1ms, "an answer");
}

}  // namespace
}  // namespace isthmus::measure

// Duplex and several streams: every figure is verified.
#include <gtest/gtest.h>

#include <algorithm>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 3, .max_seconds = 0.2};
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

CopyBuffers pinned(std::size_t size_bytes) {
  return {test::context(), HostMemory::pinned, size_bytes, std::nullopt};
}

const Samples& of(const Measurement& measurement, const std::string& metric) {
  for (const Samples& samples : measurement.samples)
    if (samples.metric == metric) return samples;
  throw std::runtime_error("no metric " + metric);
}

double least(const Samples& samples) {
  return *std::min_element(samples.seconds.begin(), samples.seconds.end());
}

const char* copy_symbol(Direction direction) {
  return direction == Direction::host_to_device ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync";
}

/// Makes a driver function do nothing while this lives.
class Swallowed {
public:
  explicit Swallowed(const char* symbol) : controls_(test::driver()) {
    controls_.swallow_calls(symbol);
  }
  ~Swallowed() { controls_.reset(); }
  Swallowed(const Swallowed&) = delete;
  Swallowed& operator=(const Swallowed&) = delete;

private:
  test::EmulatorControls controls_;
};

TEST(UnderLoad, IsMeasuredInBothDirections) {
  CopyBuffers buffers = pinned(kMiB);
  CopyBuffers load = pinned(kMiB);
  for (const Direction direction : kDirections) {
    const Measurement measurement =
        measure_under_load(buffers, load, &test::kernels(), direction, {kMiB, kQuick});
    EXPECT_GT(least(of(measurement, "copy_time")), 0);
    EXPECT_GT(measurement.first_call_seconds, 0);
  }
}

TEST(UnderLoad, IsMeasuredOfKernelsThatCopyToo) {
  CopyBuffers buffers = pinned(kMiB);
  CopyBuffers load = pinned(kMiB);
  DuplexOptions options{.size_bytes = kMiB, .stopping = kQuick};
  options.by = Engine::multiprocessors;
  for (const Direction direction : kDirections) {
    const Measurement measurement =
        measure_under_load(buffers, load, &test::kernels(), direction, options);
    EXPECT_GT(least(of(measurement, "copy_time")), 0);
  }
  EXPECT_THROW(measure_under_load(buffers, load, nullptr, Direction::host_to_device, options),
               Unavailable);
}

TEST(UnderLoad, NoticesACopyThatNeverHappenedInEitherDirection) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  CopyBuffers buffers = pinned(kMiB);
  CopyBuffers load = pinned(kMiB);
  for (const Direction missing : kDirections) {
    buffers.prepare(&test::kernels());
    load.prepare(&test::kernels());
    const Swallowed copies(copy_symbol(missing));
    EXPECT_THROW(measure_under_load(buffers, load, &test::kernels(), Direction::host_to_device,
                                    {kMiB, kQuick}),
                 CorruptTransfer);
  }
}

TEST(Duplex, CountsBothDirectionsOverTheCommonWindow) {
  CopyBuffers up = pinned(4 * kMiB);
  CopyBuffers down = pinned(4 * kMiB);
  const Measurement measurement = measure_duplex(up, down, nullptr, {4 * kMiB, kQuick});
  const Samples& total = of(measurement, "duplex_total");
  const Samples& h2d = of(measurement, "duplex_h2d");
  const Samples& d2h = of(measurement, "duplex_d2h");
  ASSERT_EQ(h2d.seconds.size(), total.seconds.size());
  for (std::size_t i = 0; i < total.seconds.size(); ++i) {
    EXPECT_NEAR(total.seconds[i] * 2, std::max(h2d.seconds[i], d2h.seconds[i]), 1e-9);
  }
  EXPECT_EQ(total.copies_per_sample, 2 * h2d.copies_per_sample);
}

TEST(Duplex, NoticesACopyThatNeverHappened) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  CopyBuffers up = pinned(kMiB);
  CopyBuffers down = pinned(kMiB);
  for (const Direction missing : kDirections) {
    up.prepare(&test::kernels());
    down.prepare(&test::kernels());
    const Swallowed copies(copy_symbol(missing));
    EXPECT_THROW(measure_duplex(up, down, &test::kernels(), {kMiB, kQuick}), CorruptTransfer);
  }
}

TEST(Duplex, RefusesPageableMemory) {
  CopyBuffers up = pinned(kMiB);
  CopyBuffers down(test::context(), HostMemory::pageable, kMiB, std::nullopt);
  EXPECT_THROW(measure_duplex(up, down, nullptr, {kMiB, kQuick}), UsageError);
}

TEST(StreamCopies, ShareAnOddSizeAmongAnyNumberOfStreams) {
  CopyBuffers buffers = pinned(kMiB + 5);
  for (const Direction direction : kDirections) {
    for (const std::size_t num_streams : {1UL, 2UL, 3UL, 8UL}) {
      const Measurement measurement = measure_stream_copies(
          buffers, &test::kernels(), {direction, kMiB + 5, num_streams, kQuick});
      EXPECT_GT(least(of(measurement, "copy_time")), 0);
    }
  }
}

TEST(StreamCopies, AreNoQuickerThanOneEngineForAllOfThem) {
  constexpr std::size_t size_bytes = 16 * kMiB;
  CopyBuffers buffers = pinned(size_bytes);
  const auto seconds = [&](std::size_t num_streams) {
    return least(
        of(measure_stream_copies(buffers, nullptr,
                                 {Direction::host_to_device, size_bytes, num_streams, kQuick}),
           "copy_time"));
  };
  // An emulated engine is slower than its model while this machine is busy, and never quicker: two
  // of its times can't be compared, one and the model (the profile `small`) can.
  const bool emulated = test::driver().emulated();
  const double one_engine = emulated ? static_cast<double>(size_bytes) / 3e9 : 0.9 * seconds(1);
  EXPECT_GT(seconds(4), one_engine) << "slices ran at once on an engine that takes one";
}

TEST(StreamCopies, AreCorruptIfTheirBytesNeverArrive) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  CopyBuffers buffers = pinned(kMiB);
  buffers.prepare(&test::kernels());
  const Swallowed copies("cuMemcpyDtoHAsync");
  EXPECT_THROW(measure_stream_copies(buffers, &test::kernels(),
                                     {Direction::device_to_host, kMiB, 4, kQuick}),
               CorruptTransfer);
}

TEST(StreamCopies, NeverGoTheWrongWay) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  CopyBuffers buffers = pinned(kMiB);
  for (const Direction direction : kDirections) {
    buffers.prepare(&test::kernels());
    controls.log_calls(1);
    measure_stream_copies(buffers, &test::kernels(), {direction, kMiB, 2, kQuick});
    controls.log_calls(0);
    auto counts = test::counts_of_calls(controls.call_log());
    const bool up = direction == Direction::host_to_device;
    EXPECT_GT(counts[copy_symbol(direction)], 0);
    EXPECT_EQ(counts[up ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync"], 0);
  }
}

TEST(StreamCopies, RefuseStreamsWithoutBytes) {
  CopyBuffers buffers = pinned(kMiB);
  EXPECT_THROW(measure_stream_copies(buffers, nullptr, {Direction::host_to_device, 100, 2, kQuick}),
               UsageError);
  EXPECT_THROW(measure_stream_copies(buffers, nullptr, {Direction::host_to_device, 100, 0, kQuick}),
               UsageError);
}

}  // namespace
}  // namespace isthmus::measure

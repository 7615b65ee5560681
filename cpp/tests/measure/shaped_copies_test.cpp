// 2-D, 3-D and array copies: every figure is verified.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/bandwidth/shaped_copies.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 3, .max_seconds = 0.2};
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

struct Shaped {
  const char* name;
  BoxLayout layout;
  BoxShape shape;
  const char* symbol;
};

std::ostream& operator<<(std::ostream& out, const Shaped& shaped) { return out << shaped.name; }

const Shaped kShaped[] = {
    {"pitched_2d", BoxLayout::pitched, {1024, 96, std::nullopt}, "cuMemcpy2DAsync"},
    {"pitched_3d", BoxLayout::pitched, {512, 12, 7}, "cuMemcpy3DAsync"},
    {"array_2d", BoxLayout::array, {1024, 96, std::nullopt}, "cuMemcpy2DAsync"},
    {"array_3d", BoxLayout::array, {512, 12, 7}, "cuMemcpy3DAsync"},
};

CopyBuffers pinned(std::size_t size_bytes) {
  return {test::context(), HostMemory::pinned, size_bytes, std::nullopt};
}

double least(const Measurement& measurement) {
  const Samples& samples = measurement.samples.at(0);
  return *std::min_element(samples.seconds.begin(), samples.seconds.end());
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

class ShapedCopies : public testing::TestWithParam<Shaped> {
protected:
  Measurement measure(CopyBuffers& buffers, Direction direction) const {
    return measure_shaped_copies(buffers, &test::kernels(),
                                 {direction, GetParam().layout, GetParam().shape, kQuick});
  }
};

TEST_P(ShapedCopies, AreMeasuredBothWaysAndLookedAt) {
  CopyBuffers buffers = pinned(kMiB);
  for (const Direction direction : kDirections) {
    const Measurement measurement = measure(buffers, direction);
    ASSERT_EQ(measurement.samples.size(), 1U);
    EXPECT_EQ(measurement.samples[0].metric, "copy_time");
    EXPECT_GT(least(measurement), 0);
    EXPECT_GT(measurement.first_call_seconds, 0);
    EXPECT_EQ(measurement.verified_on, VerifiedOn::host);
  }
}

TEST_P(ShapedCopies, AreCorruptIfTheirBytesNeverArrive) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  CopyBuffers buffers = pinned(kMiB);
  for (const Direction direction : kDirections) {
    const Swallowed copies(GetParam().symbol);
    EXPECT_THROW(measure(buffers, direction), CorruptTransfer);
  }
}

/// For each logged copy of that name, its source and its target.
std::vector<std::string> ways(const std::string& log, const std::string& symbol) {
  std::istringstream lines(log);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.substr(0, line.find(' ')) != symbol) continue;
    const std::size_t begin = line.find("source=");
    found.push_back(line.substr(begin, line.find(" bytes=") - begin));
  }
  return found;
}

TEST_P(ShapedCopies, NeverGoTheWrongWay) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  CopyBuffers buffers = pinned(kMiB);
  const std::string device = GetParam().layout == BoxLayout::array ? "array" : "device";
  for (const Direction direction : kDirections) {
    controls.log_calls(1);
    measure(buffers, direction);
    controls.log_calls(0);
    const std::vector<std::string> found = ways(controls.call_log(), GetParam().symbol);
    const std::string right = direction == Direction::host_to_device
                                  ? "source=host target=" + device
                                  : "source=" + device + " target=host";
    EXPECT_GT(found.size(), 3U);
    EXPECT_EQ(static_cast<std::size_t>(std::count(found.begin(), found.end(), right)),
              found.size());
  }
}

TEST_P(ShapedCopies, AreCorruptIfTheyGoTheWrongWay) {
  CopyBuffers buffers = pinned(kMiB);
  const CurrentContext current(buffers.context());
  const BoxShape& shape = GetParam().shape;
  for (const Direction direction : kDirections) {
    buffers.prepare(&test::kernels());
    BoxCopy box(buffers, direction, GetParam().layout, shape);
    box.poison();
    const BoxEnd host = packed_on_host(buffers.host(), shape);
    const bool up = direction == Direction::host_to_device;
    const CUDA_MEMCPY3D wrong =
        up ? box_copy(host, box.device_end(), shape) : box_copy(box.device_end(), host, shape);
    test::driver().call(symbol::memcpy_3d)(&wrong);
    test::driver().call(symbol::stream_synchronize)(nullptr);
    EXPECT_THROW(box.verify(), CorruptTransfer);
  }
}

TEST_P(ShapedCopies, LeaveBuffersThatTheNextMeasurementCanUse) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  CopyBuffers buffers = pinned(kMiB);
  for (const Direction direction : kDirections) {
    {
      const Swallowed copies(GetParam().symbol);
      EXPECT_THROW(measure(buffers, direction), CorruptTransfer);
    }
    EXPECT_NO_THROW(measure(buffers, direction));
  }
}

TEST_P(ShapedCopies, AreOneCopyOfTheirBytesInATimeThatIsTheLinks) {
  if (!test::driver().emulated()) GTEST_SKIP() << "a real link's speed isn't known here";
  CopyBuffers buffers = pinned(kMiB);
  const auto size_bytes = static_cast<double>(GetParam().shape.size_bytes());
  for (const Direction direction : kDirections) {
    // The profile `small`: 3 GB/s and 10 us.
    EXPECT_GE(least(measure(buffers, direction)), size_bytes / 3e9);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShapedCopies, testing::ValuesIn(kShaped),
                         [](const auto& test) { return test.param.name; });

Measurement measure(CopyBuffers& buffers, BoxLayout layout, const BoxShape& shape) {
  return measure_shaped_copies(buffers, nullptr,
                               {Direction::host_to_device, layout, shape, kQuick});
}

TEST(PitchedCopies, MoveRowsOfAnyWidthBothWays) {
  CopyBuffers buffers = pinned(kMiB);
  for (const Direction direction : kDirections) {
    for (const std::size_t row_bytes : {1UL, 64UL, 512UL, 4096UL}) {
      const Measurement measurement = measure_shaped_copies(
          buffers, &test::kernels(), {direction, BoxLayout::pitched, {row_bytes, 64, {}}, kQuick});
      EXPECT_GT(least(measurement), 0);
    }
  }
}

TEST(PitchedCopies, LeaveAGapBetweenRowsAlways) {
  EXPECT_EQ(pitch_of(1), 512U);
  EXPECT_EQ(pitch_of(511), 512U);
  EXPECT_EQ(pitch_of(512), 1024U);
}

TEST(PitchedCopies, AreCorruptIfTheyWriteIntoAGap) {
  CopyBuffers buffers = pinned(4096);
  const CurrentContext current(buffers.context());
  const BoxShape shape{512, 2, 2};
  BoxCopy box(buffers, Direction::host_to_device, BoxLayout::pitched, shape);
  const CUdeviceptr begin = box.device_end().device;
  // Behind the first row, in the row between the slices, and behind the very last row.
  for (const std::size_t place : {512UL, 2 * 1024UL, 6 * 1024UL - 1}) {
    buffers.disturb();
    buffers.prepare(nullptr);
    box.poison();
    box.enqueue(nullptr);
    test::driver().call(symbol::stream_synchronize)(nullptr);
    EXPECT_NO_THROW(box.verify());
    test::driver().call(symbol::memset_d8_async)(begin + place, static_cast<unsigned char>(1),
                                                 std::size_t{1}, nullptr);
    test::driver().call(symbol::stream_synchronize)(nullptr);
    EXPECT_THROW(box.verify(), CorruptTransfer) << place;
  }
}

TEST(PitchedCopies, RefuseRowsThatTheBuffersDoNotHold) {
  CopyBuffers buffers = pinned(4096);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {1024, 5, {}}), UsageError);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {1024, 2, 3}), UsageError);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {0, 5, {}}), UsageError);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {1024, 0, {}}), UsageError);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {1024, 1, 0}), UsageError);
}

TEST(PitchedCopies, RefusePageableMemory) {
  CopyBuffers buffers(test::context(), HostMemory::pageable, 4096, std::nullopt);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {512, 2, 2}), UsageError);
}

TEST(ArrayCopies, RefuseRowsOfPartsOfElements) {
  CopyBuffers buffers = pinned(4096);
  EXPECT_THROW(measure(buffers, BoxLayout::array, {510, 2, {}}), UsageError);
  EXPECT_THROW(measure(buffers, BoxLayout::array, {510, 2, 2}), UsageError);
}

TEST(ArrayCopies, OfAnOddShapeArrive) {
  CopyBuffers buffers = pinned(4096);
  EXPECT_NO_THROW(measure(buffers, BoxLayout::array, {4, 1, {}}));
  EXPECT_NO_THROW(measure(buffers, BoxLayout::array, {12, 5, 3}));
}

TEST(BoxCopies, WithoutTheirFunctionAreUnavailable) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  controls.hide_symbol("cuMemcpy3DAsync");
  const Driver old = Driver::open(test::driver().path());
  controls.reset();
  CopyBuffers buffers(Context::retain(old, 0), HostMemory::pinned, 4096, std::nullopt);
  EXPECT_THROW(measure(buffers, BoxLayout::pitched, {512, 2, 2}), Unavailable);
  EXPECT_NO_THROW(measure(buffers, BoxLayout::pitched, {512, 2, {}}));
}

}  // namespace
}  // namespace isthmus::measure

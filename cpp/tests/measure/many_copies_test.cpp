// Many small copies: all five ways must bring the same bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/bandwidth/many_copies.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 3, .max_seconds = 0.2};
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

struct NamedWay {
  ManyCopiesWay way;
  const char* name;
  const char* up;    ///< the driver function that uploads
  const char* down;  ///< the driver function that downloads
};

std::ostream& operator<<(std::ostream& out, const NamedWay& way) { return out << way.name; }

class EveryWayToAsk : public testing::TestWithParam<NamedWay> {
protected:
  Measurement measure(Direction direction, std::size_t piece_bytes, std::size_t num_pieces) {
    return measure_many_copies(buffers_, &test::kernels(),
                               {direction, GetParam().way, piece_bytes, num_pieces, kQuick});
  }

  CopyBuffers buffers_{test::context(), HostMemory::pinned, kBufferBytes, std::nullopt};
};

TEST_P(EveryWayToAsk, BringsPiecesOfEverySizeBothWays) {
  for (const Direction direction : kDirections) {
    for (const auto& [piece_bytes, num_pieces] :
         {std::pair{4UL, 1UL}, {4UL, 256UL}, {100UL, 7UL}, {4096UL, 16UL}, {65536UL, 3UL}}) {
      const Measurement measurement = measure(direction, piece_bytes, num_pieces);
      ASSERT_EQ(measurement.samples.size(), 2U);
      const auto& asked = measurement.samples[0];
      const auto& complete = measurement.samples[1];
      EXPECT_EQ(asked.metric, "api_return");
      EXPECT_EQ(complete.metric, "completion");
      for (std::size_t i = 0; i < complete.seconds.size(); ++i)
        EXPECT_GE(complete.seconds[i], asked.seconds[i]);
    }
  }
}

TEST_P(EveryWayToAsk, IsCorruptIfTheBytesNeverArrive) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  test::EmulatorControls controls(test::driver());
  for (const Direction direction : kDirections) {
    buffers_.prepare(nullptr);
    // Verified without our kernels: one way is a kernel, whose launches are swallowed.
    const bool up = direction == Direction::host_to_device;
    controls.swallow_calls(up ? GetParam().up : GetParam().down);
    EXPECT_THROW(measure(direction, 4096, 16), CorruptTransfer);
    controls.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, EveryWayToAsk,
    testing::Values(
        NamedWay{ManyCopiesWay::loop, "loop", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"},
        NamedWay{ManyCopiesWay::batch, "batch", "cuMemcpyBatchAsync", "cuMemcpyBatchAsync"},
        NamedWay{ManyCopiesWay::graph, "graph", "cuGraphLaunch", "cuGraphLaunch"},
        NamedWay{ManyCopiesWay::kernel, "kernel", "cuLaunchKernel", "cuLaunchKernel"},
        NamedWay{ManyCopiesWay::packed, "packed", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}),
    [](const auto& test) { return test.param.name; });

TEST(ManyCopies, AreAskedForByOneCallOrOneEach) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  test::EmulatorControls controls(test::driver());
  CopyBuffers buffers(test::context(), HostMemory::pinned, kBufferBytes, std::nullopt);
  const auto num_calls = [&](ManyCopiesWay way, const char* symbol) {
    controls.log_calls(1);
    measure_many_copies(buffers, nullptr, {Direction::device_to_host, way, 64, 32, kQuick});
    controls.log_calls(0);
    return test::counts_of_calls(controls.call_log())[symbol];
  };
  const int batches = num_calls(ManyCopiesWay::batch, "cuMemcpyBatchAsync");
  EXPECT_EQ(num_calls(ManyCopiesWay::loop, "cuMemcpyDtoHAsync"), 32 * batches);
  EXPECT_EQ(num_calls(ManyCopiesWay::graph, "cuGraphLaunch"), batches);
  EXPECT_EQ(num_calls(ManyCopiesWay::packed, "cuMemcpyDtoHAsync"), batches);
}

TEST(ManyCopies, WithoutKernelsLackTheKernelOnly) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, kBufferBytes, std::nullopt);
  EXPECT_THROW(
      measure_many_copies(buffers, nullptr,
                          {Direction::host_to_device, ManyCopiesWay::kernel, 64, 8, kQuick}),
      Unavailable);
}

TEST(ManyCopies, OnADriverBefore12_8LackTheBatch) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  test::EmulatorControls controls(test::driver());
  controls.hide_symbol("cuMemcpyBatchAsync");
  const Driver older = Driver::open(test::driver().path());
  controls.reset();
  CopyBuffers buffers(Context::retain(older, 0), HostMemory::pinned, kBufferBytes, std::nullopt);
  EXPECT_THROW(
      measure_many_copies(buffers, nullptr,
                          {Direction::host_to_device, ManyCopiesWay::batch, 64, 8, kQuick}),
      Unavailable);
}

TEST(ManyCopies, RefusePiecesThatNoWordFits) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, kBufferBytes, std::nullopt);
  for (const auto& [piece_bytes, num_pieces] :
       {std::pair{3UL, 4UL}, {0UL, 4UL}, {4UL, 0UL}, {kBufferBytes, 2UL}}) {
    EXPECT_THROW(measure_many_copies(buffers, nullptr,
                                     {Direction::host_to_device, ManyCopiesWay::loop, piece_bytes,
                                      num_pieces, kQuick}),
                 UsageError);
  }
}

TEST(ScatteredPieces, HaveSlotsOfTheirOwnThatDoNotTouch) {
  CopyBuffers buffers(test::context(), HostMemory::pinned, kBufferBytes, std::nullopt);
  for (const std::size_t num_pieces : {1UL, 2UL, 3UL, 6UL, 256UL, 1000UL}) {
    const ScatteredPieces pieces(buffers, 100, num_pieces);
    std::set<std::byte*> slots;
    for (std::size_t i = 0; i < num_pieces; ++i) slots.insert(pieces.slot(i));
    ASSERT_EQ(slots.size(), num_pieces);
    for (auto slot = slots.begin(); std::next(slot) != slots.end(); ++slot)
      EXPECT_GT(*std::next(slot) - *slot, 100);
  }
}

}  // namespace
}  // namespace isthmus::measure

// Copies behind a gate: enough for a sample, but never more than a held stream can queue.
#include "measure/loops/gate.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "device/buffers.hpp"

namespace isthmus::measure {
namespace {

class AGateLoop : public testing::Test {
protected:
  GateLoop loop(std::size_t launches_a_copy) {
    return {test::context(),
            &test::kernels(),
            {[this](CUstream stream) { enqueue(stream); }},
            {.launches_a_copy = launches_a_copy}};
  }
  void enqueue(CUstream stream) {
    if (fails_) throw UsageError("no more of them");
    test::driver().call(symbol::memset_d8_async)(memory_.pointer(), static_cast<unsigned char>(1),
                                                 memory_.size_bytes(), stream);
    ++num_enqueued_;
  }
  std::size_t enqueued_by_one_sample(GateLoop& loop, std::size_t num_copies) {
    const std::size_t before = num_enqueued_;
    EXPECT_GT(loop.run(num_copies), 0);
    return num_enqueued_ - before;
  }

  CurrentContext current_{test::context()};
  DeviceBuffer memory_{test::context(), 4096};
  std::size_t num_enqueued_ = 0;
  bool fails_ = false;
};

TEST_F(AGateLoop, WarmsUpAndRepeatsUntilASampleIsLongAgainstTheClock) {
  GateLoop held = loop(1);
  const double first_seconds = held.first_call();
  EXPECT_GT(first_seconds, 0);
  const std::size_t num_copies = held.calibrate(first_seconds);
  EXPECT_GT(num_copies, 4U);
  EXPECT_EQ(enqueued_by_one_sample(held, num_copies), num_copies + kWarmUpCopies);
}

TEST_F(AGateLoop, EnqueuesNoMoreLaunchesThanAHeldStreamTakes) {
  for (const std::size_t launches : {32UL, 128UL, 300UL, 512UL}) {
    GateLoop held = loop(launches);
    const std::size_t num_copies = held.calibrate(held.first_call());
    EXPECT_GE(num_copies, 1U);
    EXPECT_LE(enqueued_by_one_sample(held, num_copies) * launches, 512U) << launches;
  }
}

TEST_F(AGateLoop, TakesACopyOfEvenMoreLaunchesOnce) {
  GateLoop held = loop(5000);
  EXPECT_EQ(enqueued_by_one_sample(held, held.calibrate(held.first_call())), 1U);
}

TEST_F(AGateLoop, ThatFailsLeavesNothingHeld) {
  {
    GateLoop held = loop(1);
    held.first_call();
    fails_ = true;
    EXPECT_THROW(held.run(1), UsageError);
  }
  EXPECT_EQ(test::driver().raw(symbol::ctx_synchronize)(), CUDA_SUCCESS);
}

TEST_F(AGateLoop, LoadsTheStreamsAfterTheFirst) {
  std::size_t counts[2] = {0, 0};
  const auto counting = [this](std::size_t& count) {
    return [this, &count](CUstream stream) {
      enqueue(stream);
      ++count;
    };
  };
  GateLoop held(test::context(), &test::kernels(), {counting(counts[0]), counting(counts[1])},
                {.num_warm_ups = 1});
  held.enqueue(10, 4);
  held.release();
  held.wait();
  EXPECT_EQ(counts[0], 11U);
  EXPECT_EQ(counts[1], 41U);
  EXPECT_GE(held.seconds_with_warm_ups(), held.seconds());
  EXPECT_GE(held.makespan_seconds(), held.seconds(1));
}

}  // namespace
}  // namespace isthmus::measure

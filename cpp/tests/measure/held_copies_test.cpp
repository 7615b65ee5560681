// Copies behind a gate: as many as make a sample, but never more than a held stream takes.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "device/buffers.hpp"
#include "measure/loops/held_copies.hpp"
#include "measure/loops/repetitions.hpp"

namespace isthmus::measure {
namespace {

constexpr std::chrono::duration<double> kTimeout{15.0};

class HeldCopiesTest : public testing::Test {
protected:
  HeldCopies copies(std::size_t launches_a_copy) {
    return {test::context(), &test::kernels(), [this](CUstream stream) { enqueue(stream); },
            launches_a_copy, kTimeout};
  }
  void enqueue(CUstream stream) {
    if (fails_) throw UsageError("no more of them");
    test::driver().call(symbol::memset_d8_async)(memory_.pointer(), static_cast<unsigned char>(1),
                                                 memory_.size_bytes(), stream);
    ++num_enqueued_;
  }
  std::size_t enqueued_by_one_sample(HeldCopies& held) {
    const std::size_t before = num_enqueued_;
    EXPECT_GT(held.one_sample(), 0);
    return num_enqueued_ - before;
  }

  CurrentContext current_{test::context()};
  DeviceBuffer memory_{test::context(), 4096};
  std::size_t num_enqueued_ = 0;
  bool fails_ = false;
};

TEST_F(HeldCopiesTest, AreWarmedUpAndRepeatedUntilTheyAreLongAgainstTheClock) {
  HeldCopies held = copies(1);
  EXPECT_GT(held.first_call(), 0);
  EXPECT_GT(held.num_copies(), 4U);
  EXPECT_EQ(enqueued_by_one_sample(held), held.num_copies() + kWarmUpRepetitions);
}

TEST_F(HeldCopiesTest, AreNoMoreLaunchesThanAHeldStreamTakes) {
  for (const std::size_t launches : {32UL, 128UL, 300UL, 512UL}) {
    HeldCopies held = copies(launches);
    held.first_call();
    EXPECT_GE(held.num_copies(), 1U);
    EXPECT_LE(enqueued_by_one_sample(held) * launches, 512U) << launches;
  }
}

TEST_F(HeldCopiesTest, OfEvenMoreLaunchesAreOneACopy) {
  HeldCopies held = copies(5000);
  held.first_call();
  EXPECT_EQ(enqueued_by_one_sample(held), 1U);
}

TEST_F(HeldCopiesTest, ThatFailLeaveNothingHeld) {
  {
    HeldCopies held = copies(1);
    held.first_call();
    fails_ = true;
    EXPECT_THROW(held.one_sample(), UsageError);
  }
  EXPECT_EQ(test::driver().raw(symbol::ctx_synchronize)(), CUDA_SUCCESS);
}

}  // namespace
}  // namespace isthmus::measure

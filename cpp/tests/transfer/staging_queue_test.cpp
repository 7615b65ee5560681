// The queue in which a ring's pieces are transferred, with both ways to mark a position in it.
#include "transfer/staging/crossing_queue.hpp"

#include <array>
#include <limits>
#include <optional>

#include <isthmus/errors.hpp>

#include "emulator/emulated_machine.hpp"
#include "faults/emulator_controls.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kBytes = 64 * kKiB;
constexpr std::uint32_t kLastTicket = std::numeric_limits<std::uint32_t>::max();
constexpr int kIllegalAddress = 700;

class CrossingQueueTest : public StagingUnderTest,
                          public testing::WithParamInterface<CrossingMarks> {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    if (GetParam() == CrossingMarks::flags && best_marks(retained()) == CrossingMarks::events) {
      GTEST_SKIP() << "no stream memory operations";
    }
    device_ = device_memory(kBytes);
    slot_ = pinned_memory<std::byte>(kBytes);
  }
  void TearDown() override {
    if (driver().emulated()) isthmus::test::EmulatorControls(driver()).reset();
    StagingUnderTest::TearDown();
  }

  std::array<LinkCopy, 1> sent() const { return {LinkCopy{slot_, device_, kBytes, true}}; }
  std::array<LinkCopy, 1> fetched() const { return {LinkCopy{slot_, device_, kBytes, false}}; }
  CrossingMark send(CrossingQueue& queue, std::uint8_t value, const Event* event) {
    std::memset(slot_, value, kBytes);
    return queue.cross(sent(), event);
  }
  static void await(const CrossingQueue& queue, const CrossingMark& mark) {
    for (CrossingQueue::Wait wait(queue, mark); !wait.over();) {
    }
  }

  CUdeviceptr device_ = 0;
  std::byte* slot_ = nullptr;
};

TEST_P(CrossingQueueTest, APieceBeforeAPassedMarkHasCrossed) {
  CrossingQueue queue(retained(), GetParam());
  const auto event = queue.make_event();
  EXPECT_TRUE(queue.crossed(queue.passed(event.get())));
  for (std::uint8_t round = 1; round < 20; ++round) {
    await(queue, send(queue, round, event.get()));
    std::memset(slot_, 0, kBytes);
    await(queue, queue.cross(fetched(), event.get()));
    ASSERT_EQ(std::to_integer<int>(slot_[0]), round);
    ASSERT_EQ(std::memcmp(slot_, slot_ + 1, kBytes - 1), 0);
  }
}

TEST_P(CrossingQueueTest, TicketsMayWrapAround) {
  CrossingQueue queue(retained(), GetParam(), kLastTicket - 2);
  const auto first = queue.make_event();
  const auto last = queue.make_event();
  const CrossingMark before = send(queue, 1, first.get());
  CrossingMark after;
  for (int i = 0; i < 4; ++i) after = queue.cross(sent(), last.get());
  EXPECT_LT(after.ticket, before.ticket);
  await(queue, after);
  EXPECT_TRUE(queue.crossed(before));
  EXPECT_TRUE(queue.crossed(after));
}

TEST_P(CrossingQueueTest, APieceComesAfterTheEventThatItsCopyBegunWith) {
  if (!driver().has(symbol::stream_wait_value32)) GTEST_SKIP() << "no stream memory operations";
  const CUstream order = stream();
  const Event begins_after(retained(), Event::Timing::disabled);
  CrossingQueue queue(retained(), GetParam());
  const auto first = queue.make_event();
  const auto second = queue.make_event();
  contract::Gate held = gate();
  held.hold(order);
  driver().call(symbol::memset_d8_async)(device_, std::uint8_t{1}, kBytes, order);
  begins_after.record(order);
  queue.begin(&begins_after);
  const CrossingMark held_back = send(queue, 2, first.get());
  const CrossingMark next = queue.cross(sent(), second.get());
  EXPECT_FALSE(queue.crossed(held_back));
  EXPECT_FALSE(queue.crossed(next));
  held.open();
  await(queue, next);
  EXPECT_TRUE(queue.crossed(held_back));
  EXPECT_TRUE(all_are(on_device(device_, kBytes), 0, kBytes, 2));
}

TEST_P(CrossingQueueTest, AStreamThatJoinsWaitsForWhatWasSent) {
  if (!driver().has(symbol::stream_wait_value32)) GTEST_SKIP() << "no stream memory operations";
  const CUstream order = stream();
  const CUstream joined = stream();
  const Event begins_after(retained(), Event::Timing::disabled);
  CrossingQueue queue(retained(), GetParam());
  const auto event = queue.make_event();
  contract::Gate held = gate();
  held.hold(order);
  begins_after.record(order);
  queue.begin(&begins_after);
  queue.join(joined);
  EXPECT_EQ(query(joined), CUDA_SUCCESS) << "nothing was sent yet";
  const CrossingMark mark = send(queue, 3, event.get());
  queue.join(joined);
  EXPECT_EQ(query(joined), CUDA_ERROR_NOT_READY);
  held.open();
  synchronize(joined);
  EXPECT_TRUE(queue.crossed(mark));
}

TEST_P(CrossingQueueTest, AWaitForAStreamThatFailsEnds) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
  const isthmus::test::EmulatorControls controls(driver());
  const CUstream order = stream();
  const Event begins_after(retained(), Event::Timing::disabled);
  CrossingQueue queue(retained(), GetParam());
  const auto event = queue.make_event();
  contract::Gate held = gate();
  held.hold(order);
  begins_after.record(order);
  queue.begin(&begins_after);
  const CrossingMark mark = send(queue, 4, event.get());
  const bool flags = GetParam() == CrossingMarks::flags;
  controls.fail_call(flags ? "cuStreamQuery" : "cuEventQuery", 1, kIllegalAddress);
  EXPECT_THROW(await(queue, mark), DriverError);
}

/// A slot that is 2^31 pieces behind the others.
TEST_P(CrossingQueueTest, AMarkSoOldThatItLooksNewIsPassedOnceTheStreamIsIdle) {
  CrossingQueue queue(retained(), GetParam(), 1U << 31U);
  const auto event = queue.make_event();
  await(queue, {kLastTicket, event.get()});
  EXPECT_TRUE(queue.stop());
  EXPECT_TRUE(queue.usable());
}

TEST_P(CrossingQueueTest, AQueueThatCantBeStoppedIsUsedNoMore) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
  const isthmus::test::EmulatorControls controls(driver());
  CrossingQueue queue(retained(), GetParam());
  controls.fail_call("cuStreamSynchronize", 1, kIllegalAddress);
  EXPECT_TRUE(queue.stop()) << "once is no reason yet";
  controls.fail_call("cuStreamSynchronize", 1, kIllegalAddress);
  controls.fail_call("cuStreamSynchronize", 2, kIllegalAddress);
  EXPECT_FALSE(queue.stop());
  EXPECT_FALSE(queue.usable());
}

std::string name_of_marks(const testing::TestParamInfo<CrossingMarks>& info) {
  return info.param == CrossingMarks::flags ? "flags" : "events";
}

INSTANTIATE_TEST_SUITE_P(ByMarks, CrossingQueueTest,
                         testing::Values(CrossingMarks::flags, CrossingMarks::events),
                         name_of_marks);

class CrossingMarksTest : public StagingUnderTest {};

TEST_F(CrossingMarksTest, EventsAreUsedIfTheDriverLacksTheSymbol) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver hides symbols";
  const emulated::Controls controls(driver());
  controls.hide_symbol("cuStreamWriteValue32");
  const Driver lacking = Driver::open("emulated:" + driver().profile());
  controls.reset();
  const Context context = Context::retain(lacking, 0);
  EXPECT_EQ(best_marks(context), CrossingMarks::events);
  EXPECT_EQ(best_marks(retained()), CrossingMarks::flags);
  StagingRing ring(context, small_settings(2));
  const CUdeviceptr device = device_memory(kBytes);
  const Bytes sent = pattern(kBytes, 1);
  Bytes received(kBytes);
  ring.upload(device, bytes_of(sent), kBytes, stream());
  ring.download(bytes_of(received), device, kBytes, stream());
  EXPECT_EQ(received, sent);
}

}  // namespace
}  // namespace isthmus::transfer

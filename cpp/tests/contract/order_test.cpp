// The order of work: streams, the default stream, events, values in memory.
#include <algorithm>
#include <thread>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

/// A byte on the device, and pinned bytes as targets of its copies.
class Order : public MachineUnderTest {
protected:
  void SetUp() override {
    MachineUnderTest::SetUp();
    if (context() == nullptr) return;
    device_byte_ = device_memory(1);
    host_bytes_ = pinned_memory(kNumHostBytes);
    set_device_byte(0, nullptr);
    synchronize(nullptr);
  }

  void set_device_byte(std::uint8_t value, CUstream where) {
    driver().call(symbol::memset_d8_async)(device_byte_, value, std::size_t{1}, where);
  }
  void fetch(std::size_t index, CUstream where) {
    driver().call(symbol::memcpy_dtoh_async)(host_bytes_ + index, device_byte_, std::size_t{1},
                                             where);
  }
  std::uint8_t host_byte(std::size_t index) const {
    return std::atomic_ref(host_bytes_[index]).load();
  }
  void record(CUevent point, CUstream where) { driver().call(symbol::event_record)(point, where); }
  void wait_for(CUevent point, CUstream where) {
    driver().call(symbol::stream_wait_event)(where, point, 0u);
  }

  static constexpr std::size_t kNumHostBytes = 64;

private:
  CUdeviceptr device_byte_ = 0;
  std::uint8_t* host_bytes_ = nullptr;
};

using Stream = Order;

TEST_F(Stream, DoesItsWorkInTheOrderOfTheCalls) {
  const CUstream work = stream();
  for (std::uint8_t step = 0; step < kNumHostBytes; ++step) {
    set_device_byte(static_cast<std::uint8_t>(step + 1), work);
    fetch(step, work);
  }
  synchronize(work);
  for (std::uint8_t step = 0; step < kNumHostBytes; ++step) EXPECT_EQ(host_byte(step), step + 1);
}

TEST_F(Stream, IsReadyAtFirstAndAgainAfterItsWork) {
  const CUstream work = stream();
  EXPECT_EQ(query(work), CUDA_SUCCESS);
  set_device_byte(1, work);
  synchronize(work);
  EXPECT_EQ(query(work), CUDA_SUCCESS);
}

TEST_F(Stream, FinishesItsWorkAfterItWasDestroyed) {
  CUstream doomed = nullptr;
  driver().call(symbol::stream_create)(&doomed, unsigned{CU_STREAM_NON_BLOCKING});
  {
    Gate held = gate();
    held.hold(doomed);
    set_device_byte(5, doomed);
    fetch(0, doomed);
    driver().call(symbol::stream_destroy)(doomed);
  }
  driver().call(symbol::ctx_synchronize)();
  EXPECT_EQ(host_byte(0), 5);
}

using WaitForValue = Order;

TEST_F(WaitForValue, HoldsLaterWorkUntilTheCpuWritesTheValue) {
  const CUstream held_stream = stream();
  const CUstream other = stream();
  {
    Gate held = gate();
    held.hold(held_stream);
    set_device_byte(1, held_stream);
    fetch(0, held_stream);
    EXPECT_EQ(query(held_stream), CUDA_ERROR_NOT_READY);
    fetch(1, other);
    synchronize(other);
    EXPECT_EQ(host_byte(1), 0) << "the other stream saw work of the held one";
    EXPECT_EQ(host_byte(0), 0);
    EXPECT_EQ(query(held_stream), CUDA_ERROR_NOT_READY);
  }
  synchronize(held_stream);
  EXPECT_EQ(host_byte(0), 1);
}

TEST_F(WaitForValue, LetsThroughWhenTheValueIsThereAlready) {
  const CUstream work = stream();
  Gate open_already = gate();
  open_already.open();
  open_already.hold(work);
  synchronize(work);
  EXPECT_EQ(query(work), CUDA_SUCCESS);
}

TEST_F(WaitForValue, TakesAnyGreaterValueForGreaterOrEqual) {
  const CUstream work = stream();
  Gate held = gate();
  held.hold(work, 5, CU_STREAM_WAIT_VALUE_GEQ);
  held.set(4);
  EXPECT_EQ(query(work), CUDA_ERROR_NOT_READY);
  held.set(7);
  synchronize(work);
}

TEST_F(WaitForValue, ComparesGreaterOrEqualCyclically) {
  const CUstream work = stream();
  Gate held = gate();
  held.hold(work, 0xfffffff0u, CU_STREAM_WAIT_VALUE_GEQ);
  held.set(3);  // 19 more, across zero
  synchronize(work);
}

TEST_F(WaitForValue, TakesOnlyTheValueItselfForEqual) {
  const CUstream work = stream();
  Gate held = gate();
  held.hold(work, 1, CU_STREAM_WAIT_VALUE_EQ);
  held.set(2);
  EXPECT_EQ(query(work), CUDA_ERROR_NOT_READY);
  held.set(1);
  synchronize(work);
}

TEST_F(WaitForValue, TakesAnyCommonBitForAnd) {
  const CUstream work = stream();
  Gate held = gate();
  held.hold(work, 0b101, CU_STREAM_WAIT_VALUE_AND);
  held.set(0b010);
  EXPECT_EQ(query(work), CUDA_ERROR_NOT_READY);
  held.set(0b111);
  synchronize(work);
}

using DefaultStream = Order;

TEST_F(DefaultStream, WaitsForBlockingStreams) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  {
    Gate held = gate();
    held.hold(blocking);
    set_device_byte(3, blocking);
    fetch(0, nullptr);
    EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(host_byte(0), 0);
  }
  synchronize(nullptr);
  EXPECT_EQ(host_byte(0), 3);
}

TEST_F(DefaultStream, IsWaitedForByBlockingStreams) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  {
    Gate held = gate();
    held.hold(nullptr);
    set_device_byte(4, nullptr);
    fetch(0, blocking);
    EXPECT_EQ(query(blocking), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(host_byte(0), 0);
  }
  synchronize(blocking);
  EXPECT_EQ(host_byte(0), 4);
}

TEST_F(DefaultStream, AndNonBlockingStreamsDoNotWaitForEachOther) {
  const CUstream free = stream(CU_STREAM_NON_BLOCKING);
  const CUstream held_stream = stream(CU_STREAM_NON_BLOCKING);
  Gate held = gate();
  held.hold(held_stream);
  fetch(0, nullptr);
  synchronize(nullptr);
  held.open();
  synchronize(held_stream);
  held.set(0);
  held.hold(nullptr);
  fetch(1, free);
  synchronize(free);
  EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
}

using StreamOfAThread = Order;

TEST_F(StreamOfAThread, IsNotHeldUpByThatOfAnother) {
  set_device_byte(8, nullptr);
  synchronize(nullptr);
  {
    Gate held = gate();
    held.hold(CU_STREAM_PER_THREAD);
    set_device_byte(9, CU_STREAM_PER_THREAD);
    std::thread([&] {
      driver().call(symbol::ctx_push_current)(context());
      fetch(0, CU_STREAM_PER_THREAD);
      synchronize(CU_STREAM_PER_THREAD);
      CUcontext popped = nullptr;
      driver().call(symbol::ctx_pop_current)(&popped);
    }).join();
    EXPECT_EQ(host_byte(0), 8);
    EXPECT_EQ(query(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
  }
  fetch(1, CU_STREAM_PER_THREAD);
  synchronize(CU_STREAM_PER_THREAD);
  EXPECT_EQ(host_byte(1), 9);
}

TEST_F(StreamOfAThread, IsWaitedForByTheDefaultStreamAndByTheContext) {
  {
    Gate held = gate();
    held.hold(CU_STREAM_PER_THREAD);
    set_device_byte(3, CU_STREAM_PER_THREAD);
    fetch(0, nullptr);
    EXPECT_EQ(query(nullptr), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(host_byte(0), 0);
  }
  driver().call(symbol::ctx_synchronize)();
  EXPECT_EQ(host_byte(0), 3);
}

using Event = Order;

TEST_F(Event, IsReadyBeforeItWasEverRecorded) {
  EXPECT_EQ(driver().raw(symbol::event_query)(event()), CUDA_SUCCESS);
}

TEST_F(Event, IsReachedWhenTheWorkBeforeItIsDone) {
  const CUstream work = stream();
  const CUevent point = event();
  {
    Gate held = gate();
    held.hold(work);
    set_device_byte(6, work);
    fetch(0, work);
    record(point, work);
    EXPECT_EQ(driver().raw(symbol::event_query)(point), CUDA_ERROR_NOT_READY);
  }
  driver().call(symbol::event_synchronize)(point);
  EXPECT_EQ(host_byte(0), 6);
  EXPECT_EQ(driver().raw(symbol::event_query)(point), CUDA_SUCCESS);
}

/// What `isthmus exec` waits with: the event comes after all that a copy in its stream would.
TEST_F(Event, OfABlockingStreamWaitsForTheDefaultStreamAndTheOtherWayRound) {
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  for (const auto& [held_stream, other] : {std::pair{CUstream{}, blocking},
                                           {blocking, CUstream{}},
                                           {CUstream{}, CU_STREAM_PER_THREAD}}) {
    const CUevent point = event(CU_EVENT_DISABLE_TIMING);
    {
      Gate held = gate();
      held.hold(held_stream);
      record(point, other);
      EXPECT_EQ(driver().raw(symbol::event_query)(point), CUDA_ERROR_NOT_READY);
    }
    driver().call(symbol::event_synchronize)(point);
  }
}

TEST_F(Event, HoldsAnotherStreamThatWaitsForIt) {
  const CUstream first = stream();
  const CUstream second = stream();
  const CUevent point = event(CU_EVENT_DISABLE_TIMING);
  {
    Gate held = gate();
    held.hold(first);
    set_device_byte(7, first);
    record(point, first);
    wait_for(point, second);
    fetch(0, second);
    EXPECT_EQ(query(second), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(host_byte(0), 0);
  }
  synchronize(second);
  EXPECT_EQ(host_byte(0), 7);
}

TEST_F(Event, KeepsAWaitToTheRecordBeforeItWhenItIsRecordedAgain) {
  const CUstream waiting = stream();
  const CUstream held_stream = stream();
  const CUstream idle = stream();
  const CUevent point = event(CU_EVENT_DISABLE_TIMING);
  Gate held = gate();
  record(point, idle);
  wait_for(point, waiting);
  held.hold(held_stream);
  record(point, held_stream);
  synchronize(waiting);
  EXPECT_EQ(driver().raw(symbol::event_query)(point), CUDA_ERROR_NOT_READY);
}

TEST_F(Event, TimesFollowTheOrderOfTheirRecords) {
  const CUstream work = stream();
  const CUdeviceptr device = device_memory(4 * kMiB);
  std::uint8_t* host = pinned_memory(4 * kMiB);
  std::vector<CUevent> points;
  for (int step = 0; step < 4; ++step) {
    points.push_back(event());
    record(points.back(), work);
    driver().call(symbol::memcpy_htod_async)(device, host, 4 * kMiB, work);
  }
  synchronize(work);
  for (std::size_t step = 1; step < points.size(); ++step) {
    EXPECT_GT(milliseconds_between(points[step - 1], points[step]), 0);
    EXPECT_GT(milliseconds_between(points[0], points[step]),
              milliseconds_between(points[0], points[step - 1]));
  }
  EXPECT_EQ(milliseconds_between(points[0], points[0]), 0);
}

}  // namespace
}  // namespace isthmus::contract

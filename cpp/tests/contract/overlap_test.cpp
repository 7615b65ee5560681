// Both directions of the link work at the same time.
#include <algorithm>
#include <array>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class Overlap : public MachineUnderTest {
protected:
  static constexpr std::size_t kSizeBytes = 64 * kMiB;

  void SetUp() override {
    MachineUnderTest::SetUp();
    if (context() == nullptr) return;
    for (Side& side : sides_) {
      side = {stream(), event(), pinned_memory(kSizeBytes), device_memory(kSizeBytes)};
    }
    opened_ = event();
    gate_stream_ = stream();
  }

  enum Direction : std::size_t { up, down };

  /// Milliseconds from the common start to the end of the last copy.
  float makespan(std::initializer_list<Direction> directions) {
    {
      Gate held = gate();
      held.hold(gate_stream_);
      driver().call(symbol::event_record)(opened_, gate_stream_);
      for (const Direction direction : directions) enqueue(direction);
    }
    driver().call(symbol::ctx_synchronize)();
    float longest = 0;
    for (const Direction direction : directions) {
      longest = std::max(longest, milliseconds_between(opened_, sides_[direction].done));
    }
    return longest;
  }

private:
  struct Side {
    CUstream work;
    CUevent done;
    std::uint8_t* host;
    CUdeviceptr device;
  };

  void enqueue(Direction direction) {
    const Side& side = sides_[direction];
    driver().call(symbol::stream_wait_event)(side.work, opened_, 0u);
    if (direction == up) {
      driver().call(symbol::memcpy_htod_async)(side.device, side.host, kSizeBytes, side.work);
    } else {
      driver().call(symbol::memcpy_dtoh_async)(side.host, side.device, kSizeBytes, side.work);
    }
    driver().call(symbol::event_record)(side.done, side.work);
  }

  std::array<Side, 2> sides_{};
  CUevent opened_ = nullptr;
  CUstream gate_stream_ = nullptr;
};

TEST_F(Overlap, OfUploadAndDownloadTakesLessTimeThanOneAfterTheOther) {
  makespan({up, down});          // touches all memory
  constexpr int kMaxRounds = 8;  // other processes may use the machine during some of them
  bool overlapped = false;
  for (int round = 0; round < kMaxRounds && !overlapped; ++round) {
    const float one_after_the_other = makespan({up}) + makespan({down});
    overlapped = makespan({up, down}) < 0.9F * one_after_the_other;
  }
  EXPECT_TRUE(overlapped);
}

}  // namespace
}  // namespace isthmus::contract

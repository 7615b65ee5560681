// Copies that are refused because no thread can start.
#include <algorithm>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "faults.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

using isthmus::test::sweeps_ring;

constexpr std::size_t kBytes = 300 * kKiB + 7;
constexpr std::uint8_t kWatched = 0x5B;

/// A copy that was refused because no thread could start isn't made later, when one can.
class RefusedCopy : public TransfersUnderTest {
protected:
  /// Makes the first copy fail, and the second succeed.
  void refuse_and_go_on(void* first_target, void* second_target, const void* source) {
    make_transfers(sweeps_ring());
    isthmus_system_faults_arm("thread", 1, "main");
    EXPECT_THROW(static_cast<void>(transfers().copy_async(first_target, source, kBytes, in(own_),
                                                          SourceOrder::stream)),
                 Unavailable);
    ASSERT_GE(isthmus_system_faults_disarm(), 1);
    transfers().copy_async(second_target, source, kBytes, in(own_), SourceOrder::stream).wait();
    drop_transfers();
    driver().call(symbol::ctx_synchronize)();
  }
  void SetUp() override {
    TransfersUnderTest::SetUp();
    own_ = stream();
  }

  CUstream own_ = nullptr;
};

TEST_F(RefusedCopy, OfADownloadLeavesItsTargetUnchanged) {
  const CUdeviceptr device = device_memory(kBytes);
  send_to_device(device, pattern(kBytes, 3));
  Bytes refused(kBytes, kWatched);
  Bytes made(kBytes);
  refuse_and_go_on(refused.data(), made.data(), to_pointer(device));
  EXPECT_EQ(made, pattern(kBytes, 3));
  EXPECT_EQ(refused, Bytes(kBytes, kWatched));
}

TEST_F(RefusedCopy, OfAnUploadLeavesItsTargetUnchanged) {
  const CUdeviceptr refused = device_memory(kBytes);
  const CUdeviceptr made = device_memory(kBytes);
  fill(refused, kBytes, kWatched);
  const Bytes sent = pattern(kBytes, 4);
  refuse_and_go_on(to_pointer(refused), to_pointer(made), sent.data());
  EXPECT_EQ(on_device(made, kBytes), sent);
  EXPECT_EQ(on_device(refused, kBytes), Bytes(kBytes, kWatched));
}

TEST_F(RefusedCopy, AmongOthersOfACallLeavesAllTargetsUnchanged) {
  const CUdeviceptr device = device_memory(kBytes);
  send_to_device(device, pattern(kBytes, 5));
  std::uint8_t* const pinned = pinned_memory(kBytes);
  std::fill_n(pinned, kBytes, kWatched);
  Bytes pageable(kBytes, kWatched);
  const std::vector<ManyCopy> copies{{pinned, to_pointer(device), kBytes, in(own_)},
                                     {pageable.data(), to_pointer(device), kBytes, in(own_)}};
  make_transfers(sweeps_ring());
  isthmus_system_faults_arm("thread", 1, "main");
  const std::string why = message_of<Unavailable>(
      [&] { static_cast<void>(transfers().copy_many_async(copies, SourceOrder::call)); });
  ASSERT_GE(isthmus_system_faults_disarm(), 1);
  EXPECT_TRUE(says(why, "copies that go on in the background")) << why;
  EXPECT_FALSE(says(why, "undefined")) << why;
  synchronize(own_);
  EXPECT_EQ(Bytes(pinned, pinned + kBytes), Bytes(kBytes, kWatched));
  EXPECT_EQ(pageable, Bytes(kBytes, kWatched));
  transfers().copy_many_async(copies, SourceOrder::call).wait();
  EXPECT_EQ(Bytes(pinned, pinned + kBytes), pattern(kBytes, 5));
  EXPECT_EQ(pageable, pattern(kBytes, 5));
}

}  // namespace
}  // namespace isthmus::transfer

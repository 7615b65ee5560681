// Access and copies between devices. Skipped if there is only one.
#include <algorithm>
#include <limits>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class Peers : public MachineUnderTest {
protected:
  void SetUp() override {
    MachineUnderTest::SetUp();
    if (context() == nullptr) return;
    if (driver().device_count() < 2) GTEST_SKIP() << "needs two devices";
    driver().call(symbol::primary_ctx_retain)(&second_, 1);
    at_end([] { return driver().raw(symbol::primary_ctx_release)(1); });
  }

  bool reachable() {
    int can_access = -1;
    driver().call(symbol::device_can_access_peer)(&can_access, 0, 1);
    return can_access == 1;
  }

  CUdeviceptr memory_of_second(std::size_t size_bytes) {
    driver().call(symbol::ctx_push_current)(second_);
    const CUdeviceptr address = device_memory(size_bytes);
    CUcontext popped = nullptr;
    driver().call(symbol::ctx_pop_current)(&popped);
    return address;
  }

  CUcontext second_ = nullptr;
};

TEST_F(Peers, ADeviceIsNotItsOwnPeer) {
  int can_access = -1;
  driver().call(symbol::device_can_access_peer)(&can_access, 0, 0);
  EXPECT_EQ(can_access, 0);
}

TEST_F(Peers, AccessIsEnabledOnceAndDisabledOnce) {
  if (!reachable()) GTEST_SKIP() << "the devices can't reach each other";
  const auto enable = driver().raw(symbol::ctx_enable_peer_access);
  const auto disable = driver().raw(symbol::ctx_disable_peer_access);
  EXPECT_EQ(disable(second_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_EQ(enable(second_, 0U), CUDA_SUCCESS);
  EXPECT_EQ(enable(second_, 0U), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(disable(second_), CUDA_SUCCESS);
}

TEST_F(Peers, CopiesArriveWithAndWithoutAccess) {
  const CUdeviceptr source = device_memory(kMiB);
  const Bytes sent = pattern(kMiB, 7);
  send_to_device(source, sent);
  const CUdeviceptr target = memory_of_second(kMiB);
  const CUstream asked = stream();
  driver().call(symbol::memcpy_peer_async)(target, second_, source, context(), kMiB, asked);
  synchronize(asked);
  driver().call(symbol::ctx_push_current)(second_);
  EXPECT_EQ(on_device(target, kMiB), sent);
  CUcontext popped = nullptr;
  driver().call(symbol::ctx_pop_current)(&popped);
}

TEST_F(Peers, WithoutAccessCopiesTakeLongerThanWithIt) {
  if (!reachable()) GTEST_SKIP() << "the devices can't reach each other";
  constexpr std::size_t kLongBytes = 8 * kMiB;
  const CUdeviceptr here = device_memory(kLongBytes);
  const CUdeviceptr there = memory_of_second(kLongBytes);
  const CUstream own = stream();
  const auto quickest_ms = [&] {
    float least_ms = std::numeric_limits<float>::infinity();
    for (int i = 0; i < 5; ++i) {
      const CUevent begin = event();
      const CUevent end = event();
      driver().call(symbol::event_record)(begin, own);
      driver().call(symbol::memcpy_dtod_async)(here, there, kLongBytes, own);
      driver().call(symbol::event_record)(end, own);
      synchronize(own);
      least_ms = std::min(least_ms, milliseconds_between(begin, end));
    }
    return least_ms;
  };
  const float through_host_ms = quickest_ms();
  driver().call(symbol::ctx_enable_peer_access)(second_, 0U);
  EXPECT_LT(quickest_ms(), through_host_ms);
  driver().call(symbol::ctx_disable_peer_access)(second_);
}

}  // namespace
}  // namespace isthmus::contract

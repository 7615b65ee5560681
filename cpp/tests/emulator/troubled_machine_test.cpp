// Profiles of machines with a defect: each has the defect that it describes.
#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

class OnConfidential : public EmulatedMachine {
protected:
  OnConfidential() : EmulatedMachine("confidential") {}
};
class OnLittleMemlock : public EmulatedMachine {
protected:
  OnLittleMemlock() : EmulatedMachine("little-memlock") {}
};
class OnExclusive : public EmulatedMachine {
protected:
  OnExclusive() : EmulatedMachine("exclusive") {}
};
class OnOneOfTwoBusy : public EmulatedMachine {
protected:
  OnOneOfTwoBusy() : EmulatedMachine("two-gpus-one-busy") {}
};
class OnTwoApart : public EmulatedMachine {
protected:
  OnTwoApart() : EmulatedMachine("two-gpus-apart") {}
};

TEST_F(OnConfidential, TimesBetweenEventsAreNegativeThoughTheWorkIsDone) {
  enter();
  const CUstream work = stream();
  const CUevent first = record(work);
  const CUevent last = record(work);
  synchronize(work);
  EXPECT_LT(seconds_between(first, last), 0);
}

TEST_F(OnLittleMemlock, PinnedAndRegisteredMemoryShareALimit) {
  enter();
  pinned_memory(20 * kMiB);
  void* refused = nullptr;
  EXPECT_EQ(driver().raw(symbol::mem_host_alloc)(&refused, 20 * kMiB, 0u),
            CUDA_ERROR_OUT_OF_MEMORY);
  std::vector<std::byte> ordinary(20 * kMiB);
  EXPECT_EQ(driver().raw(symbol::mem_host_register)(ordinary.data(), ordinary.size(), 0u),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NO_THROW(pinned_memory(4 * kMiB));
}

TEST_F(OnExclusive, ARetainedContextIsRefused) {
  CUcontext context = nullptr;
  EXPECT_EQ(driver().raw(symbol::primary_ctx_retain)(&context, 0), CUDA_ERROR_DEVICE_UNAVAILABLE);
  EXPECT_EQ(context, nullptr);
}

TEST_F(OnOneOfTwoBusy, TheOtherOneCanBeUsed) {
  CUcontext context = nullptr;
  EXPECT_EQ(driver().raw(symbol::primary_ctx_retain)(&context, 1), CUDA_ERROR_DEVICE_UNAVAILABLE);
  enter(0);
  EXPECT_NE(device_memory(4096), 0u);
}

TEST_F(OnTwoApart, DevicesCanNotReachEachOthersMemory) {
  int can_access = -1;
  driver().call(symbol::device_can_access_peer)(&can_access, 0, 1);
  EXPECT_EQ(can_access, 0);
  CUcontext second = nullptr;
  driver().call(symbol::primary_ctx_retain)(&second, 1);
  enter(0);
  EXPECT_EQ(driver().raw(symbol::ctx_enable_peer_access)(second, 0u),
            CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  driver().call(symbol::primary_ctx_release)(1);
}

}  // namespace
}  // namespace isthmus::emulated

// Copies between two GPUs, and lists that go to both.
#include <thread>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// With memory on each of two GPUs; the first one's context is current.
class CopiesBetweenGpusTest : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (IsSkipped()) return;
    if (driver().device_count() < 2) GTEST_SKIP() << "for two devices";
    if (driver().emulated()) emulator_.emplace(driver());
    second_.emplace(Context::retain(driver(), 1));
    here_ = device_memory(kBytes);
    there_ = memory_there(kBytes);
  }
  void TearDown() override {
    if (emulator_) emulator_->reset();
    drop_transfers();
    for (const CUdeviceptr address : made_there_) driver().call(symbol::mem_free)(address);
    if (second_) disable(context(), second_->handle());
    if (second_) disable(second_->handle(), context());
    second_.reset();
    TransfersUnderTest::TearDown();
  }

  CUdeviceptr memory_there(std::size_t size_bytes) {
    const CurrentContext current(*second_);
    driver().call(symbol::mem_alloc)(&made_there_.emplace_back(), size_bytes);
    return made_there_.back();
  }
  CUresult enable(CUcontext accessor, CUcontext peer) {
    const CurrentContext current(driver(), accessor);
    return driver().raw(symbol::ctx_enable_peer_access)(peer, 0U);
  }
  CUresult disable(CUcontext accessor, CUcontext peer) {
    const CurrentContext current(driver(), accessor);
    return driver().raw(symbol::ctx_disable_peer_access)(peer);
  }
  bool is_open_both_ways() {
    return enable(context(), second_->handle()) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED &&
           enable(second_->handle(), context()) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  }
  void copy_there() { transfers().copy(to_pointer(there_), to_pointer(here_), kBytes); }
  std::string explained() {
    return transfers().explain(to_pointer(there_), to_pointer(here_), kBytes).costs.at(0).reason;
  }
  template <typename Work>
  unsigned long long modelled_ns(Work work) {
    const unsigned long long before = emulator_->modelled_ns();
    work();
    return emulator_->modelled_ns() - before;
  }

  static constexpr std::size_t kBytes = kMiB;
  std::optional<isthmus::test::EmulatorControls> emulator_;
  std::optional<Context> second_;
  std::vector<CUdeviceptr> made_there_;
  CUdeviceptr here_ = 0;
  CUdeviceptr there_ = 0;
};

TEST_F(CopiesBetweenGpusTest, TheFirstOneOpensTheDirectPathBothWays) {
  const Bytes sent = pattern(kBytes, 1);
  send_to_device(here_, sent);
  copy_there();
  EXPECT_EQ(on_device(there_, kBytes), sent);
  EXPECT_TRUE(is_open_both_ways());
}

TEST_F(CopiesBetweenGpusTest, TheFirstOneIsAsQuickAsThoseAfterIt) {
  if (!emulator_) GTEST_SKIP() << "only the emulated driver tells what copies take";
  const auto first_ns = modelled_ns([&] { copy_there(); });
  EXPECT_EQ(modelled_ns([&] { copy_there(); }), first_ns);
  ASSERT_EQ(disable(context(), second_->handle()), CUDA_SUCCESS);
  ASSERT_EQ(disable(second_->handle(), context()), CUDA_SUCCESS);
  EXPECT_GT(modelled_ns([&] { copy_there(); }), first_ns) << "then it goes through the host";
}

TEST_F(CopiesBetweenGpusTest, AsynchronousOnesListsAndShortOnesOpenItToo) {
  const auto opens = [&](auto copy) {
    make_transfers();
    disable(context(), second_->handle());
    disable(second_->handle(), context());
    copy();
    return is_open_both_ways();
  };
  EXPECT_TRUE(
      opens([&] { transfers().copy_async(to_pointer(there_), to_pointer(here_), kBytes).wait(); }));
  EXPECT_TRUE(opens([&] {
    const std::vector<ManyCopy> copies{{to_pointer(there_), to_pointer(here_), kKiB},
                                       {to_pointer(here_ + kKiB), to_pointer(there_ + kKiB), kKiB}};
    transfers().copy_many(copies);
  }));
  EXPECT_TRUE(opens([&] { transfers().copy(to_pointer(here_), to_pointer(there_), 64 * kKiB); }));
}

TEST_F(CopiesBetweenGpusTest, OneThatIsRecordedOpensItAndLeavesTheCaptureValid) {
  const CUstream captured = stream();
  GlobalCapture capture(driver(), captured);
  transfers().copy(to_pointer(here_), to_pointer(there_), kBytes, in(captured));
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
  EXPECT_TRUE(is_open_both_ways());
}

TEST_F(CopiesBetweenGpusTest, ThePathStaysOpenAfterTheTransfersSinceOthersMayRelyOnIt) {
  copy_there();
  drop_transfers();
  EXPECT_TRUE(is_open_both_ways());
}

TEST_F(CopiesBetweenGpusTest, NoneFailsBecauseThePathCanNotBeOpened) {
  if (!emulator_) GTEST_SKIP() << "only the emulated driver refuses on request";
  const Bytes sent = pattern(kBytes, 2);
  send_to_device(here_, sent);
  for (const char* const symbol : {"cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess"}) {
    make_transfers();
    emulator_->fail_calls(symbol, CUDA_ERROR_TOO_MANY_PEERS);
    fill(there_, kBytes, 0);
    copy_there();
    EXPECT_EQ(on_device(there_, kBytes), sent) << symbol;
    emulator_->reset();
  }
}

TEST_F(CopiesBetweenGpusTest, OneWayIsOpenedIfTheOtherCanNotBe) {
  if (!emulator_) GTEST_SKIP() << "only the emulated driver refuses on request";
  emulator_->fail_call("cuCtxEnablePeerAccess", 1, CUDA_ERROR_TOO_MANY_PEERS);
  copy_there();
  const bool forth = enable(context(), second_->handle()) == CUDA_SUCCESS;
  const bool back = enable(second_->handle(), context()) == CUDA_SUCCESS;
  EXPECT_NE(forth, back) << "one was open already";
  EXPECT_TRUE(says(explained(), "directly"));
}

TEST_F(CopiesBetweenGpusTest, AnExplanationSaysThatTheyAreDirectAndOpensNothing) {
  EXPECT_EQ(explained(), "directly from GPU 0 to GPU 1, by peer access");
  EXPECT_FALSE(is_open_both_ways());
}

TEST_F(CopiesBetweenGpusTest, AnExplanationSaysWhereTheyGoThroughTheHost) {
  if (!emulator_) GTEST_SKIP() << "only the emulated driver refuses on request";
  const std::string through_host =
      "through the host from GPU 0 to GPU 1: they can't reach each other's memory";
  emulator_->swallow_calls("cuDeviceCanAccessPeer");  // then it answers no
  EXPECT_EQ(explained(), through_host);
  emulator_->reset();
  emulator_->fail_calls("cuCtxEnablePeerAccess", CUDA_ERROR_TOO_MANY_PEERS);
  copy_there();
  EXPECT_EQ(explained(), through_host) << "what was tried counts more than what should be possible";
}

/// The first copy waits for a gate in its GPU's stream.
class ListsOfTwoGpusTest : public CopiesBetweenGpusTest {
protected:
  void SetUp() override {
    CopiesBetweenGpusTest::SetUp();
    if (IsSkipped()) return;
    make_transfers(small_settings(2));
    mine_ = device_memory(kLongBytes);
    theirs_ = memory_there(kLongBytes);
    own_ = stream();
  }

  std::vector<ManyCopy> downloads(Bytes& first, Bytes& second) {
    return {{first.data(), to_pointer(mine_), kLongBytes, in(own_)},
            {second.data(), to_pointer(theirs_), kLongBytes, {}}};
  }
  std::vector<ManyCopy> uploads(const Bytes& first, const Bytes& second) {
    return {{to_pointer(mine_), first.data(), kLongBytes, in(own_)},
            {to_pointer(theirs_), second.data(), kLongBytes, {}}};
  }
  /// Whether a copy ends while the first one can't.
  template <typename Copy>
  bool one_ends_beside(Copy copy) {
    contract::Gate held = gate();
    held.hold(own_);
    std::thread caller(copy);
    const bool ended = eventually([&] {
      double seconds = 0;
      for (const PathUse& use : transfers().stats()) seconds += use.seconds;
      return seconds > 0;
    });
    held.open();
    caller.join();
    return ended;
  }

  static constexpr std::size_t kLongBytes = 8 * kMiB;
  CUdeviceptr mine_ = 0;
  CUdeviceptr theirs_ = 0;
  CUstream own_ = nullptr;
};

TEST_F(ListsOfTwoGpusTest, DownloadFromBothAtOnce) {
  const Bytes sent = pattern(kLongBytes, 3);
  const Bytes sent_too = pattern(kLongBytes, 4);
  send_to_device(mine_, sent);
  send_to_device(theirs_, sent_too);
  Bytes first(kLongBytes);
  Bytes second(kLongBytes);
  EXPECT_TRUE(one_ends_beside([&] { transfers().copy_many(downloads(first, second)); }));
  EXPECT_EQ(first, sent);
  EXPECT_EQ(second, sent_too);
}

TEST_F(ListsOfTwoGpusTest, UploadToBothAtOnce) {
  const Bytes first = pattern(kLongBytes, 5);
  const Bytes second = pattern(kLongBytes, 6);
  EXPECT_TRUE(one_ends_beside([&] { transfers().copy_many(uploads(first, second)); }));
  EXPECT_EQ(on_device(mine_, kLongBytes), first);
  EXPECT_EQ(on_device(theirs_, kLongBytes), second);
}

TEST_F(ListsOfTwoGpusTest, TellOfAFailureOnTheOtherLink) {
  if (!emulator_) GTEST_SKIP() << "only the emulated driver fails on request";
  Bytes first(kLongBytes);
  Bytes second(kLongBytes);
  emulator_->fail_calls("cuMemcpyDtoHAsync", CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_TRUE(
      says(message_of<DriverError>([&] { transfers().copy_many(downloads(first, second)); }),
           "undefined"));
  emulator_->reset();
  transfers().copy_many(downloads(first, second));
}

TEST_F(CopiesBetweenGpusTest, OfBlocksAreMadeByTheTargetsKernel) {
  const Bytes sent = pattern(kBytes, 5);
  send_to_device(here_, sent);
  fill(there_, kBytes, kGuard);
  const BlockPool source{to_pointer(here_), kBytes / 4096, 0};
  const BlockPool target{to_pointer(there_), kBytes / 4096, 0};
  const std::vector<std::int32_t> targets{3, 1};
  const std::vector<std::int32_t> sources{7, 2};
  const BlockCopy copy{{&target, 1}, {&source, 1}, 4096, targets.data(), sources.data(), 2};
  EXPECT_EQ(transfers().prepare_blocks(copy).explain().way, "kernel");
  transfers().copy_blocks(copy).wait();
  Bytes expected(kBytes, kGuard);
  std::copy_n(sent.begin() + 7 * 4096, 4096, expected.begin() + 3 * 4096);
  std::copy_n(sent.begin() + 2 * 4096, 4096, expected.begin() + 4096);
  EXPECT_EQ(on_device(there_, kBytes), expected);
  BlockCopy wrong = copy;
  wrong.target_index.data = wrong.source_index.data = to_pointer(here_);
  const std::string why = message_of<UsageError>([&] { transfers().copy_blocks(wrong); });
  EXPECT_TRUE(says(why, "copy the index there")) << why;
}

}  // namespace
}  // namespace isthmus::transfer

// What copies wait for, and what waits for them.
#include <atomic>

#include "faults/emulator_controls.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kBytes = 300 * kKiB;
constexpr int kNumThreads = 3;

class StagingOrderTest : public StagingUnderTest {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    device_ = device_memory(kBytes);
    fill(device_, kBytes, 1);
    if (!driver().has(symbol::stream_wait_value32)) GTEST_SKIP() << "no stream memory operations";
  }

  /// Makes a missing wait visible: returns when the ring's first enqueued work would have been
  /// copied.
  void give_time_to(const std::string& symbol_name) {
    if (driver().emulated()) {
      const isthmus::test::EmulatorControls controls(driver());
      EXPECT_TRUE(eventually([&] { return says(controls.call_log(), symbol_name); }));
    }
    const CUstream other = stream();
    auto* const pinned = pinned_memory<std::uint8_t>(kBytes);
    const CUdeviceptr device = device_memory(kBytes);
    driver().call(symbol::memcpy_htod_async)(device, pinned, kBytes, other);
    driver().call(symbol::memcpy_dtoh_async)(pinned, device, kBytes, other);
    synchronize(other);
  }
  void log_calls(int enabled) {
    if (driver().emulated()) isthmus::test::EmulatorControls(driver()).log_calls(enabled);
  }

  CUdeviceptr device_ = 0;
};

/// Runs an action in another thread. Its end can be checked without waiting.
class SecondThread {
public:
  template <typename Action>
  explicit SecondThread(Action action)
      : thread_([this, action] {
          action();
          done_ = true;
        }) {}
  ~SecondThread() { join(); }
  SecondThread(const SecondThread&) = delete;
  SecondThread& operator=(const SecondThread&) = delete;
  bool done() const { return done_; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

/// The stream's memset comes before the copy, although it can't begin yet.
TEST_F(StagingOrderTest, AnUploadComesAfterTheWorkThatIsInTheStream) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const Bytes sent = pattern(kBytes, 1);
  const CUstream order = stream();
  contract::Gate held = gate();
  held.hold(order);
  driver().call(symbol::memset_d8_async)(device_, std::uint8_t{2}, kBytes, order);
  log_calls(1);
  SecondThread copy([&] { ring.upload(device_, bytes_of(sent), kBytes, order); });
  give_time_to("cuMemcpyHtoDAsync");
  EXPECT_FALSE(copy.done());
  held.open();
  copy.join();
  log_calls(0);
  EXPECT_EQ(on_device(device_, kBytes), sent);
}

TEST_F(StagingOrderTest, ADownloadComesAfterTheWorkThatIsInTheStream) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  Bytes received(kBytes, kGuard);
  const CUstream order = stream();
  contract::Gate held = gate();
  held.hold(order);
  driver().call(symbol::memset_d8_async)(device_, std::uint8_t{2}, kBytes, order);
  log_calls(1);
  SecondThread copy([&] { ring.download(bytes_of(received), device_, kBytes, order); });
  give_time_to("cuMemcpyDtoHAsync");
  EXPECT_FALSE(copy.done());
  held.open();
  copy.join();
  log_calls(0);
  EXPECT_TRUE(all_are(received, 0, kBytes, 2));
}

/// The rings' streams don't wait for the legacy stream by themselves.
TEST_F(StagingOrderTest, TheLegacyDefaultStreamOrdersBlockingStreamsToo) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  for (const CUstream legacy : {CUstream{nullptr}, CU_STREAM_LEGACY}) {
    fill(device_, kBytes, 1);
    Bytes received(kBytes, kGuard);
    const CUstream blocking = stream(CU_STREAM_DEFAULT);
    contract::Gate held = gate();
    held.hold(blocking);
    driver().call(symbol::memset_d8_async)(device_, std::uint8_t{2}, kBytes, blocking);
    log_calls(1);
    SecondThread copy([&] { ring.download(bytes_of(received), device_, kBytes, legacy); });
    give_time_to("cuMemcpyDtoHAsync");
    EXPECT_FALSE(copy.done());
    held.open();
    copy.join();
    log_calls(0);
    EXPECT_TRUE(all_are(received, 0, kBytes, 2));
  }
}

TEST_F(StagingOrderTest, AnIdleStreamCostsNoEvent) {
  StagingRing ring(retained(), small_settings(1));
  Bytes received(kBytes, kGuard);
  const CUstream idle = stream();
  const CUstream other = stream();
  contract::Gate held = gate();
  held.hold(other);
  ring.download(bytes_of(received), device_, kBytes, idle);
  EXPECT_TRUE(all_are(received, 0, kBytes, 1)) << "another stream's work is waited for";
}

/// A staged copy needn't begin: the slots hold its bytes.
TEST_F(StagingOrderTest, AStagedUploadReturnsBeforeTheStreamIsDoneAndTheStreamWaitsForIt) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const CUstream order = stream();
  auto* const seen = pinned_memory<std::uint8_t>(kBytes);
  // At most what the slots hold: a thread without a free slot waits for the stream.
  for (const std::size_t staged : {5 * kKiB, 64 * kKiB, 190 * kKiB}) {
    const Bytes sent = pattern(kBytes, static_cast<unsigned>(staged));
    Bytes source = sent;
    contract::Gate held = gate();
    held.hold(order);
    ring.upload(device_, bytes_of(source), staged, order, UploadEnd::staged);
    std::fill(source.begin(), source.end(), std::uint8_t{0});
    driver().call(symbol::memcpy_dtoh_async)(seen, device_, staged, order);
    EXPECT_EQ(query(order), CUDA_ERROR_NOT_READY);
    held.open();
    synchronize(order);
    EXPECT_EQ(std::memcmp(seen, sent.data(), staged), 0);
  }
}

/// Both fit into the slots: the second needn't wait for a slot of the first.
TEST_F(StagingOrderTest, StagedUploadsOfDifferentSizesDontWaitForTheStream) {
  StagingRing ring(retained(), small_settings(1));
  const CUstream order = stream();
  const Bytes sent = pattern(64 * kKiB, 3);
  contract::Gate held = gate();
  held.hold(order);
  SecondThread uploads([&] {
    ring.upload(device_, bytes_of(sent), 60 * kKiB, order, UploadEnd::staged);
    ring.upload(device_ + 60 * kKiB, bytes_of(sent) + 60 * kKiB, 4 * kKiB, order,
                UploadEnd::staged);
  });
  EXPECT_TRUE(eventually([&] { return uploads.done(); }));
  EXPECT_EQ(query(order), CUDA_ERROR_NOT_READY);
  held.open();
  uploads.join();
  synchronize(order);
  EXPECT_EQ(on_device(device_, sent.size()), sent);
}

TEST_F(StagingOrderTest, StagedUploadsDontOverwriteEachOthersSlots) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const CUstream order = stream();
  constexpr std::size_t kNumUploads = 12;
  const CUdeviceptr target = device_memory(kNumUploads * kBytes);
  Bytes sent;
  for (unsigned i = 0; i < kNumUploads; ++i) {
    Bytes source = pattern(kBytes, i);
    ring.upload(target + i * kBytes, bytes_of(source), kBytes, order, UploadEnd::staged);
    sent.insert(sent.end(), source.begin(), source.end());
    std::fill(source.begin(), source.end(), std::uint8_t{0});
  }
  synchronize(order);
  EXPECT_EQ(on_device(target, sent.size()), sent);
}

/// A download may use a slot that an upload hasn't left yet.
TEST_F(StagingOrderTest, ADownloadAfterAStagedUploadSeesItsBytes) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const CUstream order = stream();
  for (unsigned round = 0; round < 10; ++round) {
    const Bytes sent = pattern(kBytes, round);
    Bytes received(kBytes);
    ring.upload(device_, bytes_of(sent), kBytes, order, UploadEnd::staged);
    ring.download(bytes_of(received), device_, kBytes, order);
    ASSERT_EQ(received, sent);
  }
}

}  // namespace
}  // namespace isthmus::transfer

// Copies open windows once these pay, and keep none longer than they should.
#include <chrono>

#include <sys/mman.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "emulator/emulated_machine.hpp"
#include "host/memory/memory_map.hpp"
#include "occupy.hpp"
#include "transfer/transfers_under_test.hpp"
#include "window/guarded_pages.hpp"

namespace isthmus::transfer {
namespace {

class SmallCopies : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (IsSkipped()) return;
    const auto reports = transfers().windows().backends(0);
    const bool usable = std::any_of(reports.begin(), reports.end(),
                                    [](const WindowBackendReport& one) { return one.usable; });
    if (!usable) GTEST_SKIP() << "no windows here";
  }

  static constexpr int kEnough = 2000;

  void upload_often(CUdeviceptr device, int num_copies = kEnough) {
    for (int i = 0; i < num_copies; ++i) upload(device, Bytes(16, static_cast<std::uint8_t>(i)));
  }
  bool nothing_stays_mapped() {
    return eventually([this] { return transfers().windows().mapped_bytes(0) == 0; });
  }
};

TEST_F(SmallCopies, GoByTheDriverUntilAWindowPays) {
  const CUdeviceptr device = device_memory(2 * kMiB);
  upload_often(device, 1);
  EXPECT_EQ(num_copies(CopyPath::driver), 1u);
  EXPECT_EQ(transfers().windows().mapped_bytes(0), 0u);
  upload_often(device);
  EXPECT_GT(num_copies(CopyPath::window), 1u);
  EXPECT_EQ(num_copies(CopyPath::window_threads), 0u);
  EXPECT_GT(transfers().windows().mapped_bytes(0), 0u);
  const Bytes last = pattern(64, 7);
  upload(device + 100, last);
  EXPECT_EQ(on_device(device + 100, last.size()), last);
  EXPECT_EQ(download(device + 100, last.size()), last);
}

/// Occupies this thread for longer than what counts as a pause.
void pause() { isthmus::test::occupy(std::chrono::milliseconds{1}); }

/// Costs of one path, whatever the size, the direction and the kind of memory.
std::string costs_text(std::string_view path, const std::string& seconds,
                       const std::string& seconds_after_pause) {
  std::string text;
  for (const char* direction : {"h2d", "d2h"})
    for (const char* kind : {"pageable", "pinned"})
      text += std::string(text.empty() ? "" : ",") + R"({"path": ")" + std::string(path) +
              R"(", "direction": ")" + direction + R"(", "host_memory": ")" + kind +
              R"(", "points": [{"bytes": 4, "seconds": )" + seconds +
              R"(}], "after_pause": [{"bytes": 4, "seconds": )" + seconds_after_pause + "}]}";
  return text;
}

/// A profile by which threads are the quickest through a window, but aren't worth waking.
std::string text_with_slow_waking() {
  std::string text = test::profile_text();
  const auto begin = text.find("\"costs\": [") + 10;
  return text.replace(begin, text.find("\"not_measured\"") - 3 - begin,
                      costs_text("driver", "1e-2", "2e-2") + "," +
                          costs_text("window", "3e-6", "13e-6") + "," +
                          costs_text("window_threads", "1e-6", "31e-6") + "]");
}

TEST_F(SmallCopies, WakeNoThreadsAfterAPauseIfTheseAreNotWorthItAndHaveThemOtherwise) {
  use_as_if_measured_here(text_with_slow_waking());
  const CUdeviceptr device = device_memory(2 * kMiB);
  // Longer than what counts as a pause between two calls.
  const Bytes bytes(256 * kKiB, 1);
  for (int i = 0; i < 50; ++i) upload(device, bytes);
  ASSERT_GT(transfers().windows().mapped_bytes(0), 0u);
  const std::uint64_t by_several = num_copies(CopyPath::window_threads);
  for (int i = 0; i < 10; ++i) upload(device, bytes);
  // This thread may have to wait for its core now and then.
  EXPECT_GT(num_copies(CopyPath::window_threads), by_several + 5) << "these follow each other";
  const std::uint64_t by_one = num_copies(CopyPath::window);
  // A helper that waits for its core isn't asleep yet.
  for (int i = 0; i < 100 && num_copies(CopyPath::window) == by_one; ++i) {
    pause();
    upload(device, bytes);
  }
  EXPECT_EQ(num_copies(CopyPath::window), by_one + 1);
}

TEST_F(SmallCopies, ThatFindThreadsAsleepAreNotTakenForCopiesAfterAPause) {
  use_as_if_measured_here(text_with_slow_waking());
  const CUdeviceptr device = device_memory(2 * kMiB);
  const Bytes bytes(256 * kKiB, 1);
  upload(device, bytes, by("window"));
  pause();
  upload(device, bytes);
  ASSERT_EQ(num_copies(CopyPath::window), 2U);
  // This thread may have to wait for its core, which is a pause, too.
  for (int i = 0; i < 100 && num_copies(CopyPath::window_threads) == 0; ++i) upload(device, bytes);
  ASSERT_EQ(num_copies(CopyPath::window_threads), 1U);
  EXPECT_DOUBLE_EQ(use_of(CopyPath::window_threads).predicted_seconds, 1e-6);
}

TEST_F(SmallCopies, OfMemoryThatHasNoWindowLeaveOtherMemoryItsOwn) {
  if (!driver().emulated()) GTEST_SKIP() << "the emulated driver refuses one buffer only";
  const emulated::Controls controls(driver());
  upload_often(device_memory(2 * kMiB));
  const auto num_before = num_copies(CopyPath::window);
  ASSERT_GT(num_before, 1u);
  controls.fail_calls("cuMemGetHandleForAddressRange", CUDA_ERROR_NOT_SUPPORTED);
  upload_often(device_memory(3 * kMiB));
  EXPECT_EQ(num_copies(CopyPath::window), num_before) << "this buffer can't be exported";
  controls.reset();
  upload_often(device_memory(4 * kMiB));
  EXPECT_GT(num_copies(CopyPath::window), num_before + 1);
}

TEST_F(SmallCopies, LeaveNothingMappedOfAFreedBuffer) {
  CUdeviceptr device = 0;
  driver().call(symbol::mem_alloc)(&device, 2 * kMiB);
  upload_often(device);
  ASSERT_GT(transfers().windows().mapped_bytes(0), 0u);
  driver().call(symbol::mem_free)(device);
  EXPECT_TRUE(nothing_stays_mapped());
}

TEST_F(SmallCopies, LeaveNothingMappedThatTheyNoLongerUse) {
  upload_often(device_memory(2 * kMiB));
  ASSERT_GT(transfers().windows().mapped_bytes(0), 0u);
  EXPECT_TRUE(nothing_stays_mapped());
}

TEST_F(SmallCopies, CloseTheirWindowsOnTrim) {
  upload_often(device_memory(2 * kMiB));
  transfers().trim();
  EXPECT_EQ(transfers().windows().mapped_bytes(0), 0u);
}

TEST_F(SmallCopies, FromAFileThatBecameShorterAreRefusedAtOnce) {
  const CUdeviceptr device = device_memory(2 * kMiB);
  upload_often(device);
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  for (int i = 0; i < 100; ++i) transfers().copy(to_pointer(device), page, 64);
  ASSERT_EQ(ftruncate(file, 0), 0);
  EXPECT_TRUE(says(message_of<UsageError>([&] { transfers().copy(to_pointer(device), page, 64); }),
                   "file ends"));
  munmap(page, 4096);
  close(file);
}

TEST_F(SmallCopies, FromMemoryThatMayNoLongerBeReadAreRefusedOnceTheClockHasTicked) {
  const CUdeviceptr device = device_memory(2 * kMiB);
  upload_often(device);
  const window::GuardedPages pages;
  for (int i = 0; i < 100; ++i) transfers().copy(to_pointer(device), pages.data(), 64);
  mprotect(pages.data(), pages.size_bytes(), PROT_NONE);
  const host::Tick tick = host::this_tick();
  ASSERT_TRUE(eventually([tick] { return host::this_tick() != tick; }));
  EXPECT_TRUE(
      says(message_of<UsageError>([&] { transfers().copy(to_pointer(device), pages.data(), 64); }),
           "source of the copy is not memory"));
}

TEST_F(SmallCopies, NeverReachTheBufferThatHadTheAddressBefore) {
  for (int round = 0; round < 20; ++round) {
    CUdeviceptr device = 0;
    driver().call(symbol::mem_alloc)(&device, 2 * kMiB);
    upload_often(device, 200);
    const Bytes bytes = pattern(64, static_cast<unsigned>(round));
    upload(device + 8, bytes);
    ASSERT_EQ(on_device(device + 8, bytes.size()), bytes);
    driver().call(symbol::mem_free)(device);
    Bytes host(64);
    ASSERT_NE(message_of<std::exception>(
                  [&] { transfers().copy(to_pointer(device + 8), host.data(), host.size()); }),
              "");
  }
}

TEST_F(SmallCopies, OfManyThreadsAreAllRight) {
  constexpr int kThreads = 64;
  const CUdeviceptr device = device_memory(2 * kMiB);
  upload_often(device);
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (unsigned index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      const CUdeviceptr own = device + index * 4096;
      for (unsigned round = 0; round < 50; ++round) {
        const Bytes bytes = pattern(1 + 37 * round, index * 1000 + round);
        upload(own, bytes);
        if (download(own, bytes.size()) != bytes) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST_F(SmallCopies, NeedNoCurrentContext) {
  const CUdeviceptr device = device_memory(2 * kMiB);
  upload_often(device);
  std::string failure;
  std::thread([&] {
    failure = message_of<std::exception>([&] { upload(device, Bytes(16, 1)); });
  }).join();
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace isthmus::transfer

// Host memory of a mapped file, and a file that shrinks during a copy: an error or a copy of the
// remaining bytes, and no signal, on any path.
#include <thread>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "host/memory/memory_map.hpp"
#include "transfer/mapped_file.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kPieceBytes = kMiB;  // that a copy goes through
constexpr std::size_t kLongBytes = 3 * kPieceBytes + 100;

class FileCopy : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (IsSkipped()) return;
    if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver can be waited for";
    if (!host::MemoryMap().find(0, host::MemoryMap::Wanted::file_from_here).known)
      GTEST_SKIP() << "the kernel can't tell a file's memory from other memory: before Linux 6.11";
    emulator_.emplace(driver());
    device_ = device_memory(kLongBytes);
    own_ = stream();
    // What this thread knows of memory that was at a file's address before holds until then.
    const host::Tick tick = host::this_tick();
    while (host::this_tick() == tick) std::this_thread::yield();
  }
  void TearDown() override {
    if (emulator_) emulator_->reset();
    TransfersUnderTest::TearDown();
  }

  /// Truncates the file to nothing immediately before a driver call does its work.
  void empty_before(const MappedFile& file, const char* symbol, int nth = 1) {
    emulator_->before_call(
        symbol, nth, [](void* argument) { static_cast<const MappedFile*>(argument)->truncate(0); },
        const_cast<MappedFile*>(&file));
  }
  CopyOptions by_own_stream(std::string_view path) {
    CopyOptions options = in(own_);
    options.path = path;
    return options;
  }

  std::optional<isthmus::test::EmulatorControls> emulator_;
  CUdeviceptr device_ = 0;
  CUstream own_ = nullptr;
};

/// A path that touches the host's memory, and a call between its check and its copy.
struct TouchingWay {
  const char* path;
  std::size_t size_bytes;
  const char* call_of_upload;
  const char* call_of_download;
};

class FileCopyByWay : public FileCopy, public testing::WithParamInterface<TouchingWay> {};

TEST_P(FileCopyByWay, AnUploadTakesWhatItHasReadBeforeTheFileGotShorter) {
  const auto& [path, size_bytes, call, unused] = GetParam();
  const Bytes sent = pattern(size_bytes, 1);
  const MappedFile file(sent);
  empty_before(file, call);
  transfers().copy(to_pointer(device_), file.data(), size_bytes, by_own_stream(path));
  EXPECT_EQ(on_device(device_, size_bytes), sent);
}

TEST_P(FileCopyByWay, ADownloadIntoAFileThatGotShorterIsAUsageError) {
  const auto& [path, size_bytes, unused, call] = GetParam();
  const MappedFile file(pattern(size_bytes, 1));
  empty_before(file, call);
  const std::string message = message_of<UsageError>(
      [&] { transfers().copy(file.data(), to_pointer(device_), size_bytes, by_own_stream(path)); });
  EXPECT_TRUE(says(message, "can't be written at byte 0")) << message;
  EXPECT_TRUE(says(message, "bytes [0, " + std::to_string(size_bytes) + ") of the target"))
      << message;
}

TEST_P(FileCopyByWay, AFileThatStaysIsCopiedBothWays) {
  const auto& [path, size_bytes, unused, also_unused] = GetParam();
  const Bytes sent = pattern(size_bytes, 2);
  const MappedFile source(sent);
  const MappedFile target(Bytes(size_bytes, kGuard));
  transfers().copy(to_pointer(device_), source.data(), size_bytes, by_own_stream(path));
  transfers().copy(target.data(), to_pointer(device_), size_bytes, by_own_stream(path));
  EXPECT_EQ(std::memcmp(target.data(), sent.data(), size_bytes), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, FileCopyByWay,
    testing::Values(TouchingWay{"window", 100, "cuStreamQuery", "cuStreamQuery"},
                    TouchingWay{"window_threads", 64 * kKiB, "cuStreamQuery", "cuStreamQuery"},
                    TouchingWay{"driver", 100, "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"},
                    TouchingWay{"driver", kPieceBytes, "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"}),
    [](const auto& way) {
      return std::string(way.param.path) + "_" + std::to_string(way.param.size_bytes);
    });

TEST_F(FileCopy, AFileIsStagedWhereTheDriverWouldCopyMemory) {
  prefer_the_ring(Direction::host_to_device);  // of downloads this profile knows the driver alone
  constexpr std::size_t kSizeBytes = kMiB;
  Bytes memory(kSizeBytes, 1);
  const MappedFile file(memory);
  const auto path_to = [&](std::byte* target, std::size_t size_bytes) {
    return transfers().explain(target, to_pointer(device_), size_bytes, {}).path;
  };
  ASSERT_EQ(path_to(bytes_of(memory), kSizeBytes), CopyPath::driver);
  EXPECT_EQ(path_to(file.data(), kSizeBytes), CopyPath::staged);
  EXPECT_EQ(path_to(file.data(), kSizeBytes - 1), CopyPath::driver);
}

TEST_F(FileCopy, ShortOnesGoThroughPinnedMemorySoThatTheDriverMakesNoOtherCopy) {
  const Bytes sent = pattern(kPieceBytes, 7);
  const MappedFile file(sent);
  emulator_->log_calls(1);
  transfers().copy(to_pointer(device_), file.data(), kPieceBytes, by_own_stream("driver"));
  transfers().copy(file.data(), to_pointer(device_), kPieceBytes, by_own_stream("driver"));
  const std::string log = emulator_->call_log();
  emulator_->log_calls(0);
  EXPECT_EQ(isthmus::test::counts_of_calls(log)["cuMemHostRegister"], 1) << "once for all";
  EXPECT_TRUE(says(log, "pinned"));
  EXPECT_FALSE(says(log, "pageable"));
  EXPECT_EQ(std::memcmp(file.data(), sent.data(), kPieceBytes), 0);
}

TEST_F(FileCopy, ShortOnesNeedNoMemoryToPin) {
  const Bytes sent = pattern(kPieceBytes, 8);
  const MappedFile file(sent);
  emulator_->fail_calls("cuMemHostRegister", CUDA_ERROR_OUT_OF_MEMORY);
  transfers().copy(to_pointer(device_), file.data(), kPieceBytes, by_own_stream("driver"));
  EXPECT_EQ(on_device(device_, kPieceBytes), sent);
  emulator_->reset();
  emulator_->log_calls(1);
  transfers().copy(to_pointer(device_), file.data(), kPieceBytes, by_own_stream("driver"));
  EXPECT_EQ(isthmus::test::counts_of_calls(emulator_->call_log())["cuMemHostRegister"], 0)
      << "it isn't tried again until trim()";
}

TEST_F(FileCopy, OfSeveralThreadsArriveAlthoughThePinnedMemoryIsOneThreads) {
  constexpr std::size_t kNumThreads = 3;
  const Bytes sent = pattern(kNumThreads * kPieceBytes, 9);
  const MappedFile file(sent);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kNumThreads; ++i)
    threads.emplace_back([&, offset = i * kPieceBytes] {
      for (int times = 0; times < 5; ++times)
        transfers().copy(to_pointer(device_ + offset), file.data() + offset, kPieceBytes,
                         by("driver"));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(on_device(device_, sent.size()), sent);
}

TEST_F(FileCopy, SharedMemoryWithoutADescriptorIsCopiedAsPrivateMemoryIs) {
  constexpr std::size_t kSizeBytes = kMiB;
  auto* const shared = static_cast<std::byte*>(
      mmap(nullptr, kSizeBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const Bytes sent = pattern(kSizeBytes, 10);
  std::memcpy(shared, sent.data(), kSizeBytes);
  emulator_->log_calls(1);
  transfers().copy(to_pointer(device_), shared, kSizeBytes, by_own_stream("driver"));
  EXPECT_TRUE(says(emulator_->call_log(), "source=pageable")) << "directly, with no copy before";
  EXPECT_EQ(on_device(device_, kSizeBytes), sent);
  munmap(shared, kSizeBytes);
}

TEST_F(FileCopy, ALongUploadNamesTheBytesThatItCouldNotRead) {
  const Bytes sent = pattern(kLongBytes, 3);
  const MappedFile file(sent);
  empty_before(file, "cuMemcpyHtoDAsync", 2);
  const std::string message = message_of<UsageError>([&] {
    transfers().copy(to_pointer(device_), file.data(), kLongBytes, by_own_stream("driver"));
  });
  EXPECT_TRUE(says(message, "can't be read at byte 2097152")) << message;
  EXPECT_TRUE(says(message, "bytes [2097152, " + std::to_string(kLongBytes) + ")")) << message;
  const Bytes found = on_device(device_, 2 * kPieceBytes);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), sent.begin()));
}

TEST_F(FileCopy, AnAsynchronousUploadIsOutOfTheFileWhenItReturns) {
  const Bytes sent = pattern(kLongBytes, 4);
  const MappedFile file(sent);
  contract::Gate held = gate();
  held.hold(own_);
  CopyFuture future =
      transfers().copy_async(to_pointer(device_), file.data(), kLongBytes, in(own_));
  file.truncate(0);
  held.open();
  future.wait();
  EXPECT_EQ(on_device(device_, kLongBytes), sent);
}

TEST_F(FileCopy, ACopyInTheBackgroundFailsWhenItsFileIsGone) {
  const MappedFile file(pattern(kLongBytes, 5));
  contract::Gate held = gate();
  held.hold(own_);
  CopyFuture future = transfers().copy_async(to_pointer(device_), file.data(), kLongBytes, in(own_),
                                             SourceOrder::stream);
  file.truncate(0);
  held.open();
  EXPECT_TRUE(says(message_of<UsageError>([&] { future.wait(); }), "has become shorter"));
  EXPECT_TRUE(future.over());
}

TEST_F(FileCopy, BetweenTwoHostBuffersItIsAnErrorToo) {
  const MappedFile file(pattern(kPieceBytes, 6));
  Bytes target(kPieceBytes);
  empty_before(file, "cuStreamQuery");
  EXPECT_TRUE(says(
      message_of<UsageError>([&] { transfers().copy(target.data(), file.data(), kPieceBytes); }),
      "can't be read at byte 0"));
}

}  // namespace
}  // namespace isthmus::transfer

// Every driver call that a copy makes fails once: the copy still arrives or says which bytes are
// undefined, and the ring continues.
#include <functional>
#include <map>
#include <optional>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/call_crossing.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kBytes = 80 * kKiB;
constexpr int kIllegalAddress = 700;
constexpr int kOutOfMemory = 2;
constexpr int kMaxFailures = 30;  // of one symbol

enum class Way {
  upload,
  staged_upload,
  download,
  listed_upload,
  listed_download,
  crossing_upload,
  crossing_download
};

constexpr bool downloads(Way way) {
  return way == Way::download || way == Way::listed_download || way == Way::crossing_download;
}

/// "bytes [4096, 153600) of the target are undefined": 4096. The whole size if the message has no
/// such text, since then nothing was copied.
std::size_t first_undefined(const std::string& message) {
  const std::size_t at = message.find("bytes [");
  return at == std::string::npos ? 0 : std::stoul(message.substr(at + 7));
}

class StagingFailureTest : public StagingUnderTest, public testing::WithParamInterface<Way> {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
    controls_.emplace(driver());
    device_ = device_memory(kBytes + 2 * kGuardBytes);
    order_ = stream();
  }
  void TearDown() override {
    if (controls_) controls_->reset();
    StagingUnderTest::TearDown();
  }

  /// The target, including its guards.
  Bytes target() {
    driver().call(symbol::ctx_synchronize)();
    return downloads(GetParam()) ? host_ : on_device(device_, kBytes + 2 * kGuardBytes);
  }

  void prepare(const Bytes& sent) {
    host_.assign(kBytes + 2 * kGuardBytes, kGuard);
    if (downloads(GetParam())) {
      send_to_device(device_ + kGuardBytes, sent);
    } else {
      fill(device_, kBytes + 2 * kGuardBytes, kGuard);
      std::copy(sent.begin(), sent.end(), host_.begin() + kGuardBytes);
    }
  }

  /// The same bytes in ranges of unequal size.
  static std::vector<LinkPiece> listed(CUdeviceptr device, std::byte* host) {
    std::vector<LinkPiece> pieces;
    for (std::size_t begin = 0; begin < kBytes; begin += pieces.back().size_bytes)
      pieces.push_back(
          {device + begin, host + begin, std::min(kBytes - begin, 1 + 3 * pieces.size() * kKiB)});
    return pieces;
  }

  void copy(StagingRing& ring) {
    std::byte* const host = bytes_of(host_) + kGuardBytes;
    const CUdeviceptr device = device_ + kGuardBytes;
    if (GetParam() == Way::download) return ring.download(host, device, kBytes, order_);
    if (GetParam() == Way::listed_upload) return ring.upload(listed(device, host), order_);
    if (GetParam() == Way::listed_download) return ring.download(listed(device, host), order_);
    const CallCrossing crossing(driver(), device);
    if (GetParam() == Way::crossing_upload) return ring.upload(crossing, host, kBytes, order_);
    if (GetParam() == Way::crossing_download) return ring.download(host, crossing, kBytes, order_);
    const bool staged = GetParam() == Way::staged_upload;
    ring.upload(device, host, kBytes, order_, staged ? UploadEnd::staged : UploadEnd::complete);
  }

  /// The message of a copy with `ring`; "" if it succeeded. Its target must be as the message says.
  ///
  /// arrange     called immediately before the copy; its effect ends after the copy
  std::string ending(
      StagingRing& ring, unsigned seed, const std::function<void()>& arrange = [] {}) {
    const Bytes sent = pattern(kBytes, seed);
    prepare(sent);
    arrange();
    std::string failure;
    try {
      copy(ring);
    } catch (const DriverError& error) {
      failure = error.what();
    } catch (const Unavailable& error) {
      failure = error.what();
    }
    controls_->log_calls(0);
    const std::string log = controls_->call_log();
    controls_->reset();
    const Bytes found = target();
    const std::size_t end = failure.empty() ? kBytes : first_undefined(failure);
    EXPECT_EQ(std::memcmp(found.data() + kGuardBytes, sent.data(), end), 0) << failure;
    EXPECT_TRUE(all_are(found, 0, kGuardBytes, kGuard));
    EXPECT_TRUE(all_are(found, kGuardBytes + kBytes, found.size(), kGuard));
    log_ = log;
    return failure;
  }

  std::string ending_with_failure(StagingRing& ring, unsigned seed, const std::string& symbol,
                                  int nth, int code = kIllegalAddress) {
    return ending(ring, seed, [&] { controls_->fail_call(symbol.c_str(), nth, code); });
  }

  std::map<std::string, int> calls_of(StagingRing& ring) {
    EXPECT_EQ(ending(ring, 1, [&] { controls_->log_calls(1); }), "");
    return isthmus::test::counts_of_calls(log_);
  }

  /// Makes each call of a copy fail in turn. Returns how many of the failures were reported.
  int sweep(StagingRing& ring, const std::map<std::string, int>& calls, bool anew) {
    int num_reported = 0;
    for (const auto& [symbol, count] : calls) {
      if (isthmus::test::releases(symbol)) continue;
      // The number of queries varies.
      for (int nth = 1; nth <= std::min(count, kMaxFailures); ++nth) {
        SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
        if (anew) ring.trim();
        num_reported += ending_with_failure(ring, static_cast<unsigned>(nth), symbol, nth) != "";
        EXPECT_EQ(ending(ring, 77), "") << "the ring isn't usable after a failure";
        if (HasFailure()) return num_reported;
      }
    }
    return num_reported;
  }

  void expect_any_failing_call_to_be_reported_or_harmless() {
    for (const auto& [num_threads, by_events] : {std::pair{1, false}, {2, false}, {2, true}}) {
      RingSettings settings = small_settings(num_threads);
      settings.marks_by_events = by_events;
      StagingRing ring(retained(), settings);
      const auto calls_at_first = calls_of(ring);
      ASSERT_TRUE(calls_at_first.contains("cuStreamCreate"));
      EXPECT_GT(sweep(ring, calls_at_first, true), 3);
      const auto calls = calls_of(ring);
      ASSERT_FALSE(calls.contains("cuStreamCreate"));
      EXPECT_GT(sweep(ring, calls, false), 3);
    }
  }

  const char* copy_symbol() const {
    return downloads(GetParam()) ? "cuMemcpyDtoHAsync" : "cuMemcpyHtoDAsync";
  }

  std::optional<isthmus::test::EmulatorControls> controls_;
  CUdeviceptr device_ = 0;
  CUstream order_ = nullptr;
  Bytes host_;
  std::string log_;  // of the driver calls in the last copy
};

TEST_P(StagingFailureTest, AnyFailingCallOfACopyIsReportedOrHarmlessAndTheRingGoesOn) {
  expect_any_failing_call_to_be_reported_or_harmless();
}

using FailureOfAListTest = StagingFailureTest;

TEST_P(FailureOfAListTest, AnyFailingCallIsReportedOrHarmlessAndTheRingGoesOn) {
  expect_any_failing_call_to_be_reported_or_harmless();
}

TEST_P(FailureOfAListTest, NamesNoBytesBecauseThereAreManyTargets) {
  StagingRing ring(retained(), small_settings(1));
  const std::string message = ending_with_failure(ring, 1, "cuMemcpyBatchAsync", 1);
  EXPECT_TRUE(says(message, "cuMemcpyBatchAsync")) << message;
  EXPECT_FALSE(says(message, "bytes [")) << message;
}

using FailureOfACrossingTest = StagingFailureTest;

TEST_P(FailureOfACrossingTest, AnyFailingCallIsReportedOrHarmlessAndTheRingGoesOn) {
  expect_any_failing_call_to_be_reported_or_harmless();
}

TEST_P(FailureOfACrossingTest, NamesNoBytesBecauseItemsLieApart) {
  StagingRing ring(retained(), small_settings(1));
  const std::string message = ending_with_failure(ring, 1, copy_symbol(), 2);
  EXPECT_TRUE(says(message, "all items of the target are undefined")) << message;
  EXPECT_FALSE(says(message, "bytes [")) << message;
}

TEST_P(StagingFailureTest, AFailedCopyNamesTheSymbolAndTheBytes) {
  RingSettings settings = small_settings(1);
  settings.download_pieces = 1;  // of a slot's size, so that there are four slots
  StagingRing ring(retained(), settings);
  EXPECT_EQ(ending(ring, 1), "");
  // A download delivers only when its slots are full.
  const int nth = GetParam() == Way::download ? 5 : 2;
  const std::string message = ending_with_failure(ring, 2, copy_symbol(), nth);
  EXPECT_TRUE(says(message, copy_symbol()));
  EXPECT_TRUE(says(message, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(says(message, ", " + std::to_string(kBytes) + ") of the target are undefined"));
  EXPECT_GT(first_undefined(message), 0U) << "what was copied before is known";
  EXPECT_EQ(ending(ring, 3), "");
}

/// The driver doesn't even report whether the copies in flight have ended.
TEST_P(StagingFailureTest, AThreadWhoseStreamCantBeEndedGetsAnother) {
  StagingRing ring(retained(), small_settings(1));
  EXPECT_EQ(ending(ring, 1), "");
  const std::string message = ending(ring, 2, [&] {
    controls_->fail_call(copy_symbol(), 2, kIllegalAddress);
    controls_->fail_call("cuStreamSynchronize", 1, kIllegalAddress);
    controls_->fail_call("cuStreamSynchronize", 2, kIllegalAddress);
  });
  // A download in flight writes to the ring's slots, which are kept.
  EXPECT_EQ(says(message, "must be kept until the process ends"), GetParam() != Way::download)
      << message;
  EXPECT_EQ(ending(ring, 3, [&] { controls_->log_calls(1); }), "");
  EXPECT_TRUE(says(log_, "cuStreamCreate"));
  EXPECT_EQ(ending(ring, 4, [&] { controls_->log_calls(1); }), "");
  EXPECT_FALSE(says(log_, "cuStreamCreate"));
}

TEST_P(StagingFailureTest, WithoutMemoryToPinNothingIsCopied) {
  StagingRing ring(retained(), small_settings(2));
  const std::string message = ending_with_failure(ring, 1, "cuMemHostRegister", 1, kOutOfMemory);
  EXPECT_NE(message, "");
  EXPECT_FALSE(says(message, "undefined"));
  EXPECT_EQ(ring.pinned_bytes(), 0U);
  EXPECT_EQ(ending(ring, 2), "");
}

std::string name_of_way(const testing::TestParamInfo<Way>& info) {
  if (info.param == Way::staged_upload) return "staged_upload";
  return downloads(info.param) ? "download" : "upload";
}

INSTANTIATE_TEST_SUITE_P(ByWay, StagingFailureTest,
                         testing::Values(Way::upload, Way::staged_upload, Way::download),
                         name_of_way);
INSTANTIATE_TEST_SUITE_P(ByWay, FailureOfAListTest,
                         testing::Values(Way::listed_upload, Way::listed_download), name_of_way);
INSTANTIATE_TEST_SUITE_P(ByWay, FailureOfACrossingTest,
                         testing::Values(Way::crossing_upload, Way::crossing_download),
                         name_of_way);

class BrokenFillerTest : public StagingUnderTest {};

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A filler that fails behind a certain byte.
template <typename Error>
class EndsAt final : public SlotFiller {
public:
  explicit EndsAt(std::size_t end) : end_(end) {}
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override {
    if (offset_bytes + size_bytes > end_) throw Error("no more");
    std::memset(slot, 9, size_bytes);
    return 0;
  }

private:
  std::size_t end_;
};

TEST_F(BrokenFillerTest, WhatAFillerThrowsReachesTheCallerAndTheRingGoesOn) {
  const CUdeviceptr device = device_memory(kBytes);
  const CUstream order = stream();
  for (const int num_threads : {1, 3}) {
    StagingRing ring(retained(), small_settings(num_threads));
    EXPECT_THROW(ring.upload(device, EndsAt<Broken>(70 * kKiB), kBytes, order), Broken);
    fill(device, kBytes, 1);
    const std::string message = message_of<UsageError>(
        [&] { ring.upload(device, EndsAt<UsageError>(70 * kKiB), kBytes, order); });
    EXPECT_TRUE(says(message, "no more; bytes [")) << message;
    EXPECT_TRUE(all_are(on_device(device, kBytes), 0, first_undefined(message), 9));
    ring.upload(device, EndsAt<Broken>(kBytes), kBytes, order);
    EXPECT_TRUE(all_are(on_device(device, kBytes), 0, kBytes, 9));
  }
}

}  // namespace
}  // namespace isthmus::transfer

// Every driver call that a row cache makes fails once: all is freed, and no row of the table gets
// bytes that nobody stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "device/cleanup.hpp"
#include "emulator_controls.hpp"
#include "paged/row_cache.hpp"

namespace isthmus {
namespace {

constexpr int kIllegalAddress = 700;
constexpr std::uint64_t kNumRows = 100;
constexpr std::uint32_t kNumSlots = 32, kNumKeys = 20;
constexpr std::uint32_t kOld = 1, kNew = 2;

/// Stores to some rows of a table, through a cache that others push them out of.
void use_a_cache(const Context& context, const Kernels& kernels, std::uint64_t row_bytes) {
  const std::uint64_t row_words = row_bytes / sizeof(std::uint32_t);
  const PinnedBuffer table(context, kNumRows * row_bytes);
  auto* const words = reinterpret_cast<std::uint32_t*>(table.data());
  const std::uint64_t num_words = kNumRows * row_words;
  std::fill_n(words, num_words, kOld);
  const auto is_whole = [&] {
    for (std::uint64_t row = 0; row < kNumRows; ++row) {
      const std::uint32_t* const first = words + row * row_words;
      if (*first != kOld && (row >= kNumKeys || *first != kNew)) return false;
      if (!std::all_of(first, first + row_words, [&](auto word) { return word == *first; }))
        return false;
    }
    return true;
  };
  try {
    const DeviceBuffer rows(context, kNumSlots * row_bytes), keys_of_slots(context, kNumSlots * 4);
    const DeviceBuffer slots(context, kNumKeys * 4), values(context, kNumKeys * row_bytes);
    const PinnedBuffer keys(context, 3 * kNumKeys * 4);
    for (std::uint32_t i = 0; i < 3 * kNumKeys; ++i)
      reinterpret_cast<std::uint32_t*>(keys.data())[i] = i;
    const Stream stream(context), other(context);
    RowCache cache(
        context, kernels,
        {table.data(), kNumRows, row_bytes, false, rows.pointer(), keys_of_slots.pointer()},
        {kNumSlots, false, true});
    {
      const CurrentContext current(context);
      context.driver().call(symbol::memset_d32_async)(values.pointer(), kNew, kNumKeys * row_words,
                                                      stream.handle());
    }
    const RowCacheKeys first{keys.device_pointer(), kNumKeys, slots.pointer(), 4};
    const RowCacheKeys others{keys.device_pointer() + 4ULL * kNumKeys, kNumKeys, slots.pointer(),
                              4};
    cache.ensure(first, stream.handle());
    cache.update({slots.pointer(), kNumKeys, 0, 4}, values.pointer(), stream.handle());
    cache.prefetch(others, other.handle());
    cache.ensure(others, stream.handle());
    cache.finish();
    EXPECT_TRUE(
        std::all_of(words, words + kNumKeys * row_words, [](auto word) { return word == kNew; }));
  } catch (...) {
    EXPECT_TRUE(is_whole());
    throw;
  }
  EXPECT_TRUE(is_whole());
}

/// A failed free can't be repeated, and a failed query may be answered otherwise.
bool throws(const std::string& symbol) {
  static const std::set<std::string> others{"cuMemFree",
                                            "cuMemFreeHost",
                                            "cuStreamDestroy",
                                            "cuEventDestroy",
                                            "cuModuleUnload",
                                            "cuCtxPopCurrent",
                                            "cuGetErrorName",
                                            "cuGetErrorString",
                                            "cuThreadExchangeStreamCaptureMode",
                                            "cuPointerGetAttribute",
                                            "cuPointerGetAttributes",
                                            "cuDevicePrimaryCtxRelease"};
  return !others.contains(symbol);
}

class RowCacheSweep : public testing::TestWithParam<std::uint64_t> {
protected:
  void SetUp() override {
    old_sink_ = set_cleanup_sink([](const std::string&) {});
  }
  void TearDown() override {
    set_cleanup_sink(old_sink_);
    controls_.reset();
  }
  test::EmulatorControls controls_{test::driver()};

private:
  CleanupSink old_sink_;
};

TEST_P(RowCacheSweep, AnyFailingCallIsReportedAndSpoilsNoRow) {
  const Context context = test::context();
  const Kernels kernels(context, Kernels::Options{});
  use_a_cache(context, kernels, GetParam());
  controls_.log_calls(1);
  use_a_cache(context, kernels, GetParam());
  controls_.log_calls(0);
  const auto calls = test::counts_of_calls(controls_.call_log());
  IsthmusEmulatorLive before = controls_.live();
  int num_thrown = 0;
  for (const auto& [symbol, count] : calls) {
    if (!throws(symbol)) continue;
    for (int nth = 1; nth <= count; ++nth) {
      SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
      controls_.fail_call(symbol.c_str(), nth, kIllegalAddress);
      try {
        use_a_cache(context, kernels, GetParam());
      } catch (const DriverError& error) {
        EXPECT_EQ(error.code(), kIllegalAddress);
        ++num_thrown;
      }
      controls_.reset();
      // What can't be released outside its context is lost.
      if (symbol == "cuCtxPushCurrent") before = controls_.live();
      EXPECT_EQ(controls_.live(), before);
    }
  }
  EXPECT_GT(num_thrown, 10);
  EXPECT_NO_THROW(use_a_cache(context, kernels, GetParam())) << "nothing may stay broken";
}

INSTANTIATE_TEST_SUITE_P(NarrowAndWide, RowCacheSweep, testing::Values(512, 8192));

}  // namespace
}  // namespace isthmus

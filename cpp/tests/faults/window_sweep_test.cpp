// Every driver call for opening and using a window fails once: the window still works or says why
// not, and nothing leaks.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <vector>

#include <isthmus/errors.hpp>
#include <isthmus/window.hpp>

#include "../device/test_driver.hpp"
#include "device/buffers.hpp"
#include "emulator_controls.hpp"

namespace isthmus {
namespace {

constexpr int kIllegalAddress = 700;

/// The error of an operation; "" if it succeeded.
using Ending = std::string;

class WindowSweep : public testing::TestWithParam<std::size_t> {
protected:
  void TearDown() override { controls_.reset(); }

  /// Opens a window, writes through it and reads the bytes back.
  Ending use_a_window(const DeviceBuffer& buffer) const {
    Windows windows(test::driver());
    Ending ending;
    try {
      Window window = windows.open(buffer.pointer(), buffer.size_bytes());
      std::vector<std::uint8_t> sent(buffer.size_bytes());
      std::vector<std::uint8_t> found(buffer.size_bytes());
      std::iota(sent.begin(), sent.end(), std::uint8_t{1});
      window.write(0, sent.data(), sent.size());
      window.read(found.data(), 0, found.size());
      EXPECT_EQ(found, sent);
    } catch (const DriverError& error) {
      EXPECT_EQ(error.code(), kIllegalAddress);
      ending = error.what();
    } catch (const Unavailable& error) {
      ending = error.what();
    } catch (const UsageError& error) {
      ending = error.what();
    }
    EXPECT_EQ(windows.mapped_bytes(0), 0u);
    return ending;
  }

  std::map<std::string, int> calls_of(const DeviceBuffer& buffer) {
    controls_.log_calls(1);
    EXPECT_EQ(use_a_window(buffer), "");
    controls_.log_calls(0);
    return test::counts_of_calls(controls_.call_log());
  }

  test::EmulatorControls controls_{test::driver()};
};

/// Destructors' calls can't throw either.
bool is_left_out(const std::string& symbol) {
  return test::releases(symbol) || symbol == "cuCtxPushCurrent";
}

TEST_P(WindowSweep, AnyFailingCallIsReportedOrHarmlessAndLeaksNothing) {
  const Context context = test::context();
  const DeviceBuffer buffer(context, GetParam());
  const auto calls = calls_of(buffer);
  ASSERT_TRUE(calls.contains("cuMemGetHandleForAddressRange"));
  const IsthmusEmulatorLive before = controls_.live();
  int num_reported = 0;
  for (const auto& [symbol, count] : calls) {
    if (is_left_out(symbol)) continue;
    for (int nth = 1; nth <= count; ++nth) {
      SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
      controls_.fail_call(symbol.c_str(), nth, kIllegalAddress);
      num_reported += use_a_window(buffer) != "";
      controls_.reset();
      EXPECT_EQ(controls_.live(), before);
    }
  }
  EXPECT_GT(num_reported, 10);
  EXPECT_EQ(use_a_window(buffer), "") << "nothing may stay broken";
}

INSTANTIATE_TEST_SUITE_P(OnSharedAndOwnPages, WindowSweep, testing::Values(1000, 3 << 20));

}  // namespace
}  // namespace isthmus

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <isthmus/isthmus.h>

#include "capi/device_memory.hpp"

namespace isthmus::test {
namespace {

struct Refusal {
  isthmus_status status;
  std::string message;
};

/// The error of an opening that must fail.
Refusal refusal_of(std::uint64_t pointer, std::size_t size_bytes,
                   const isthmus_window_options* options = nullptr) {
  isthmus_window* const untouched = reinterpret_cast<isthmus_window*>(&options);
  isthmus_window* window = untouched;
  isthmus_error error{};
  const isthmus_status status = isthmus_window_open(pointer, size_bytes, options, &window, &error);
  EXPECT_NE(status, ISTHMUS_OK);
  EXPECT_EQ(window, untouched);
  EXPECT_EQ(error.status, status);
  EXPECT_GT(std::strlen(error.message), 0U);
  return {status, error.message};
}

bool names(const Refusal& refusal, const char* what) {
  return refusal.message.find(what) != std::string::npos;
}

TEST(COpening, ANullPointerIsRefused) {
  const Refusal refusal = refusal_of(0, 4);
  EXPECT_EQ(refusal.status, ISTHMUS_USAGE_ERROR);
  EXPECT_TRUE(names(refusal, "null")) << refusal.message;
}

TEST(COpening, HostMemoryIsRefused) {
  char ordinary[64];
  EXPECT_EQ(refusal_of(reinterpret_cast<std::uint64_t>(ordinary), 64).status, ISTHMUS_USAGE_ERROR);
  const Context own = context();
  const CurrentContext current(own);
  PinnedBuffer pinned(own, 4096);
  const Refusal refusal = refusal_of(reinterpret_cast<std::uint64_t>(pinned.data()), 64);
  EXPECT_EQ(refusal.status, ISTHMUS_USAGE_ERROR);
  EXPECT_TRUE(names(refusal, "host memory")) << refusal.message;
}

TEST(COpening, ZeroBytesAndTooManyAreRefused) {
  const DeviceMemory memory(4096);
  EXPECT_EQ(refusal_of(memory.pointer(), 0).status, ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(refusal_of(memory.pointer(), std::size_t{1} << 40).status, ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(refusal_of(memory.pointer(), SIZE_MAX).status, ISTHMUS_USAGE_ERROR);
}

TEST(COpening, AFreedBufferIsRefused) {
  std::uint64_t freed = 0;
  {
    const DeviceMemory memory(4096);
    freed = memory.pointer();
  }
  EXPECT_EQ(refusal_of(freed, 64).status, ISTHMUS_USAGE_ERROR);
}

TEST(COpening, ANullResultPointerIsRefused) {
  const DeviceMemory memory(4096);
  EXPECT_EQ(isthmus_window_open(memory.pointer(), 64, nullptr, nullptr, nullptr),
            ISTHMUS_USAGE_ERROR);
}

TEST(COpening, ImpossibleOptionsAreRefused) {
  const DeviceMemory memory(4096);
  const isthmus_window_options defaults = ISTHMUS_WINDOW_OPTIONS_INIT;

  isthmus_window_options options = defaults;
  options.struct_size = 8;
  EXPECT_TRUE(names(refusal_of(memory.pointer(), 64, &options), "struct_size"));
  options = defaults;
  options.num_threads = -1;
  EXPECT_TRUE(names(refusal_of(memory.pointer(), 64, &options), "num_threads is -1"));
  options = defaults;
  options.page_bytes = 5000;
  EXPECT_TRUE(names(refusal_of(memory.pointer(), 64, &options), "5000"));
  options = defaults;
  options.check = static_cast<isthmus_buffer_check>(3);
  EXPECT_TRUE(names(refusal_of(memory.pointer(), 64, &options), "check is 3"));
}

TEST(COpening, MembersOfALaterVersionMustBeZero) {
  struct LaterOptions {
    isthmus_window_options known = ISTHMUS_WINDOW_OPTIONS_INIT;
    std::size_t unknown = 0;
  } later;
  later.known.struct_size = sizeof later;
  const DeviceMemory memory(4096);
  isthmus_window* window = nullptr;
  ASSERT_EQ(isthmus_window_open(memory.pointer(), 64, &later.known, &window, nullptr), ISTHMUS_OK);
  isthmus_window_close(window);
  later.unknown = 1;
  EXPECT_TRUE(names(refusal_of(memory.pointer(), 64, &later.known), "doesn't know"));
}

TEST(COpening, AWindowOfSeveralThreadsCopiesAll) {
  constexpr std::size_t kBytes = 1'000'001;
  const DeviceMemory memory(kBytes);
  isthmus_window_options options = ISTHMUS_WINDOW_OPTIONS_INIT;
  options.num_threads = 2;
  isthmus_window* window = nullptr;
  ASSERT_EQ(isthmus_window_open(memory.pointer(), kBytes, &options, &window, nullptr), ISTHMUS_OK);
  const auto bytes = pattern(kBytes);
  EXPECT_EQ(isthmus_window_write(window, 0, bytes.data(), kBytes, nullptr), ISTHMUS_OK);
  EXPECT_EQ(memory.all(), bytes);
  std::vector<std::uint8_t> back(kBytes);
  EXPECT_EQ(isthmus_window_read(window, back.data(), 0, kBytes, nullptr), ISTHMUS_OK);
  EXPECT_EQ(back, bytes);
  isthmus_window_close(window);
}

TEST(CLibrary, QuestionsAboutANullWindowGiveZero) {
  isthmus_window_close(nullptr);
  EXPECT_EQ(isthmus_window_data(nullptr), nullptr);
  EXPECT_EQ(isthmus_window_size(nullptr), 0U);
  EXPECT_EQ(isthmus_window_device_pointer(nullptr), 0U);
  EXPECT_EQ(isthmus_window_mapped_data(nullptr), nullptr);
  EXPECT_EQ(isthmus_window_mapped_size(nullptr), 0U);
  EXPECT_EQ(isthmus_window_mapped_device_pointer(nullptr), 0U);
  EXPECT_EQ(isthmus_window_backend(nullptr), nullptr);
  EXPECT_EQ(isthmus_window_instructions(nullptr), nullptr);
}

TEST(CLibrary, CallsOnANullWindowAreRefused) {
  isthmus_error error{};
  char byte = 0;
  EXPECT_EQ(isthmus_window_write(nullptr, 0, &byte, 1, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_STREQ(error.message, "the window is a null pointer");
  EXPECT_EQ(isthmus_window_post(nullptr, 0, &byte, 1, nullptr), ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(isthmus_window_read(nullptr, &byte, 0, 1, nullptr), ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(isthmus_window_is_alive(nullptr, nullptr, nullptr), ISTHMUS_USAGE_ERROR);
}

TEST(CLibrary, AGpuThatIsNotThereHasNoBAR1) {
  isthmus_error error{};
  EXPECT_EQ(isthmus_bar1_usage(-1, nullptr, nullptr, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(isthmus_bar1_usage(1000, nullptr, nullptr, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_NE(std::string(error.message).find("1000"), std::string::npos);
}

TEST(CLibrary, EveryStatusHasAName) {
  for (int status = ISTHMUS_OK; status <= ISTHMUS_INTERNAL_ERROR; ++status)
    EXPECT_STRNE(isthmus_status_name(static_cast<isthmus_status>(status)), "unknown_status");
  EXPECT_STREQ(isthmus_status_name(static_cast<isthmus_status>(7)), "unknown_status");
}

TEST(CLibrary, TheVersionHasThreeNumbers) {
  const std::string version = isthmus_version();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  EXPECT_EQ(version.find_first_not_of("0123456789."), std::string::npos) << version;
}

TEST(CLibrary, NoticesNeedABuffer) {
  EXPECT_EQ(isthmus_take_notice(nullptr, 100), 0);
  char text = 'x';
  EXPECT_EQ(isthmus_take_notice(&text, 0), 0);
  EXPECT_EQ(text, 'x');
}

// Each test has its own process, which isn't connected to a driver yet.
class CWithoutDriver : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Opens a window, prints the result and ends the process.
[[noreturn]] void open_and_say(const char* variable, const char* value) {
  setenv(variable, value, 1);  // NOLINT(concurrency-mt-unsafe)
  isthmus_error error{};
  isthmus_window* window = nullptr;
  const isthmus_status status = isthmus_window_open(4096, 64, nullptr, &window, &error);
  std::fprintf(stderr, "%s %d: %s\n", isthmus_status_name(status), error.driver_code,
               error.message);
  std::_Exit(0);
}

TEST_F(CWithoutDriver, AnAbsentDriverIsUnavailable) {
  EXPECT_EXIT(open_and_say("ISTHMUS_DRIVER", "/nowhere/libcuda.so.1"), ::testing::ExitedWithCode(0),
              "unavailable 0: .*nowhere");
}

TEST_F(CWithoutDriver, AnUnknownDriverIsTheUsersError) {
  EXPECT_EXIT(open_and_say("ISTHMUS_DRIVER", "imaginary"), ::testing::ExitedWithCode(0),
              "usage_error 0: unknown driver 'imaginary'");
}

TEST_F(CWithoutDriver, AnUnknownBackendIsTheUsersError) {
  EXPECT_EXIT(open_and_say("ISTHMUS_WINDOW", "sideways"), ::testing::ExitedWithCode(0),
              "usage_error 0: ISTHMUS_WINDOW is 'sideways'");
}

[[noreturn]] void open_with_windows_off() {
  setenv("ISTHMUS_WINDOW", "off", 1);  // NOLINT(concurrency-mt-unsafe)
  const DeviceMemory memory(4096);
  isthmus_error error{};
  isthmus_window* window = nullptr;
  const isthmus_status status = isthmus_window_open(memory.pointer(), 64, nullptr, &window, &error);
  std::fprintf(stderr, "%s: %s\n", isthmus_status_name(status), error.message);
  std::_Exit(0);
}

TEST_F(CWithoutDriver, WindowsThatAreOffAreUnavailable) {
  EXPECT_EXIT(open_with_windows_off(), ::testing::ExitedWithCode(0),
              "unavailable: .*ISTHMUS_WINDOW=off");
}

}  // namespace
}  // namespace isthmus::test

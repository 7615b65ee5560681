// gdr_open() where it can't work, and its log. Each test has its own process, since settings are
// read once.
#include <gdrapi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace isthmus::test {
namespace {

struct Setting {
  const char* variable;
  const char* value;
};

// Opens a handle, prints the result, and ends the process.
[[noreturn]] void open_with(std::initializer_list<Setting> settings) {
  for (const Setting& setting : settings)
    setenv(setting.variable, setting.value, 1);  // NOLINT(concurrency-mt-unsafe)
  errno = 0;
  gdr_t const g = gdr_open();
  std::fprintf(stderr, "%s, errno %d\n", g == nullptr ? "null" : "open", errno);
  std::_Exit(gdr_close(nullptr) == EINVAL ? 0 : 1);
}

class GdrOpening : public ::testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(GdrOpening, WithoutADriverThereIsNoHandle) {
  EXPECT_EXIT(open_with({{"ISTHMUS_DRIVER", "/nowhere/libcuda.so.1"}}),
              ::testing::ExitedWithCode(0), "null, errno 95");
}

TEST_F(GdrOpening, WithWindowsOffThereIsNoHandle) {
  EXPECT_EXIT(open_with({{"ISTHMUS_WINDOW", "off"}}), ::testing::ExitedWithCode(0),
              "null, errno 95");
}

TEST_F(GdrOpening, NothingIsLoggedUnlessAskedFor) {
  EXPECT_EXIT(open_with({{"ISTHMUS_WINDOW", "off"}, {"GDRCOPY_LOG_LEVEL", "1"}}),
              ::testing::ExitedWithCode(0), "^null");
}

TEST_F(GdrOpening, ErrorsAreLoggedWhenLoggingIsOn) {
  EXPECT_EXIT(open_with({{"ISTHMUS_WINDOW", "off"}, {"GDRCOPY_ENABLE_LOGGING", "0"}}),
              ::testing::ExitedWithCode(0),
              "ERR:  gdr_open: .*ISTHMUS_WINDOW=off.*\nnull, errno 95\nERR:  gdr_close");
}

TEST_F(GdrOpening, AHigherLogLevelSuppressesErrors) {
  EXPECT_EXIT(
      open_with(
          {{"ISTHMUS_WINDOW", "off"}, {"GDRCOPY_ENABLE_LOGGING", "1"}, {"GDRCOPY_LOG_LEVEL", "5"}}),
      ::testing::ExitedWithCode(0), "^null");
}

}  // namespace
}  // namespace isthmus::test

// How the driver is chosen: the argument, then ISTHMUS_DRIVER, then the system's.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "driver/locate.hpp"
#include "messages.hpp"

namespace isthmus {
namespace {

/// Sets ISTHMUS_DRIVER during a test.
class DriverWish {
public:
  explicit DriverWish(const char* value) {
    const char* before = std::getenv(kName);
    if (before != nullptr) before_ = before;
    had_value_ = before != nullptr;
    value != nullptr ? setenv(kName, value, 1) : unsetenv(kName);
  }
  ~DriverWish() { had_value_ ? setenv(kName, before_.c_str(), 1) : unsetenv(kName); }
  DriverWish(const DriverWish&) = delete;
  DriverWish& operator=(const DriverWish&) = delete;

private:
  static constexpr const char* kName = "ISTHMUS_DRIVER";
  std::string before_;
  bool had_value_;
};

std::string usage_error(const std::string& source) {
  return test::message_of<UsageError>([&] { Driver::open(source); });
}

TEST(DriverSource, IsTheSystemsDriverByDefault) {
  const DriverWish unset(nullptr);
  EXPECT_EQ(locate_driver("").file, "libcuda.so.1");
  EXPECT_EQ(locate_driver("").profile, "");
}

TEST(DriverSource, IsTheSystemsDriverWhenTheVariableIsEmpty) {
  const DriverWish empty("");
  EXPECT_EQ(locate_driver("").file, "libcuda.so.1");
}

TEST(DriverSource, FollowsTheVariable) {
  const DriverWish wish("emulated:two-gpus");
  EXPECT_EQ(locate_driver("").profile, "two-gpus");
}

TEST(DriverSource, PrefersTheArgumentToTheVariable) {
  const DriverWish wish("emulated:two-gpus");
  EXPECT_EQ(locate_driver("emulated").profile, "small");
  EXPECT_EQ(locate_driver("system").file, "libcuda.so.1");
}

TEST(DriverSource, FindsTheEmulatorBesideTheCodeThatOpensIt) {
  EXPECT_EQ(locate_driver("emulated").file, own_folder() + "/libisthmus_emulator.so");
}

TEST(DriverSource, TakesAnythingWithASlashForAPath) {
  EXPECT_EQ(locate_driver("./libcuda.so").file, "./libcuda.so");
}

TEST(DriverSource, RefusesAFormItDoesNotKnow) {
  EXPECT_TRUE(test::says(usage_error("emulator"), "'emulator'"));
  EXPECT_TRUE(test::says(usage_error("libcuda.so.1"), "a path with a '/'"));
}

TEST(DriverSource, RefusesABadValueOfTheVariable) {
  const DriverWish wish("gpu");
  EXPECT_TRUE(test::says(usage_error(""), "'gpu'"));
}

TEST(DriverSource, RefusesAnUnknownProfileAndListsTheKnownOnes) {
  const std::string message = usage_error("emulated:huge");
  EXPECT_TRUE(test::says(message, "'huge'"));
  EXPECT_TRUE(test::says(message, "small, two-gpus"));
}

}  // namespace
}  // namespace isthmus

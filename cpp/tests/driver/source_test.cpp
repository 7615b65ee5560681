// Which driver a source names: the argument, then ISTHMUS_DRIVER, then the system's.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "driver/locate.hpp"

namespace isthmus {
namespace {

/// ISTHMUS_DRIVER for the length of a test.
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
  try {
    Driver::open(source);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
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
  EXPECT_NE(usage_error("emulator").find("'emulator'"), std::string::npos);
  EXPECT_NE(usage_error("libcuda.so.1").find("a path with a '/'"), std::string::npos);
}

TEST(DriverSource, RefusesABadValueOfTheVariable) {
  const DriverWish wish("gpu");
  EXPECT_NE(usage_error("").find("'gpu'"), std::string::npos);
}

TEST(DriverSource, RefusesAnUnknownProfileAndListsTheKnownOnes) {
  const std::string message = usage_error("emulated:huge");
  EXPECT_NE(message.find("'huge'"), std::string::npos);
  EXPECT_NE(message.find("small, two-gpus"), std::string::npos);
}

}  // namespace
}  // namespace isthmus

// How the driver is chosen: the argument, then ISTHMUS_DRIVER, then the system's.
#include <string>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "driver/locate.hpp"
#include "environment_variable.hpp"
#include "messages.hpp"

namespace isthmus {
namespace {

using test::EnvironmentVariable;

constexpr const char* kDriver = "ISTHMUS_DRIVER";

std::string usage_error(const std::string& source) {
  return test::message_of<UsageError>([&] { Driver::open(source); });
}

TEST(DriverSource, IsTheSystemsDriverByDefault) {
  const EnvironmentVariable unset(kDriver, nullptr);
  EXPECT_EQ(locate_driver("").file, "libcuda.so.1");
  EXPECT_EQ(locate_driver("").profile, "");
}

TEST(DriverSource, IsTheSystemsDriverWhenTheVariableIsEmpty) {
  const EnvironmentVariable empty(kDriver, "");
  EXPECT_EQ(locate_driver("").file, "libcuda.so.1");
}

TEST(DriverSource, FollowsTheVariable) {
  const EnvironmentVariable wish(kDriver, "emulated:two-gpus");
  EXPECT_EQ(locate_driver("").profile, "two-gpus");
}

TEST(DriverSource, PrefersTheArgumentToTheVariable) {
  const EnvironmentVariable wish(kDriver, "emulated:two-gpus");
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
  const EnvironmentVariable wish(kDriver, "gpu");
  EXPECT_TRUE(test::says(usage_error(""), "'gpu'"));
}

TEST(DriverSource, RefusesAnUnknownProfileAndListsTheKnownOnes) {
  const std::string message = usage_error("emulated:huge");
  EXPECT_TRUE(test::says(message, "'huge'"));
  EXPECT_TRUE(test::says(message, "small, two-gpus"));
}

}  // namespace
}  // namespace isthmus

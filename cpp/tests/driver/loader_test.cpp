// A missing or unsuitable driver always gives Unavailable, which says what is needed.
#include "driver/driver.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "driver/locate.hpp"
#include "messages.hpp"

namespace isthmus {
namespace {

using test::says;

std::string fake(const std::string& name) { return own_folder() + "/fakes/fake_" + name + ".so"; }

/// The error of opening `source`; nothing if it opens.
std::optional<Unavailable> refusal(const std::string& source) {
  try {
    Driver::open(source);
  } catch (const Unavailable& error) {
    return error;
  }
  return std::nullopt;
}

TEST(Loader, OpensALibraryThatHasEverySymbol) {
  const Driver driver = Driver::open(fake("complete"));
  EXPECT_EQ(driver.version(), 12020);
  EXPECT_TRUE(driver.missing_symbols().empty());
  EXPECT_TRUE(says(driver.path(), "fake_complete.so"));
}

TEST(Loader, DoesNotTakeAnotherLibraryForTheEmulator) {
  const Driver driver = Driver::open(fake("complete"));
  EXPECT_FALSE(driver.emulated());
  EXPECT_EQ(driver.profile(), "");
}

TEST(Loader, NeedsADriverWhereThereIsNoLibrary) {
  const auto error = refusal("/nowhere/libcuda.so.1");
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->capability(), "CUDA driver");
  EXPECT_TRUE(says(error->reason(), "/nowhere/libcuda.so.1"));
  EXPECT_TRUE(says(error->needs(), "12.2"));
}

TEST(Loader, FindsALibraryWithoutStartingIt) {
  EXPECT_NO_THROW(Driver::find(fake("broken")));  // cuInit would refuse
  EXPECT_THROW(Driver::find("/nowhere/libcuda.so.1"), Unavailable);
  EXPECT_THROW(Driver::find("imaginary"), UsageError);
}

TEST(Loader, RecognisesTheStubOfTheToolkit) {
  const auto error = refusal(fake("stub"));
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(says(error->reason(), "stub"));
}

TEST(Loader, SaysWhenLibraryAndKernelModuleDiffer) {
  const auto error = refusal(fake("mismatched"));
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(says(error->needs(), "reboot"));
}

/// Seen on an H200 with driver 580: what PyTorch has opened in the parent.
TEST(Loader, SaysThatAnotherLibrarysDriverStayedWithTheParent) {
  const auto error = refusal(fake("forked"));
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(says(error->reason(), "forked"));
  EXPECT_FALSE(Driver::open_or_absent(fake("forked")).has_devices());
}

TEST(Loader, PassesOnAnyOtherFailureToStart) {
  try {
    Driver::open(fake("broken"));
    FAIL() << "opened a driver that doesn't start";
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(error.code_name(), "CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(error.symbol(), "cuInit");
  }
}

TEST(Loader, NamesTheVersionOfADriverThatIsTooOld) {
  const auto error = refusal(fake("too_old"));
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(says(error->reason(), "12.1"));
  EXPECT_TRUE(says(error->needs(), "12.2"));
}

TEST(Loader, NamesTheVersionOfADriverFromBeforeGetProcAddress) {
  const auto error = refusal(fake("ancient"));
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(says(error->reason(), "11.2"));
}

TEST(Loader, RefusesALibraryThatIsNoDriver) {
  const auto error = refusal(fake("not_a_driver"));
  ASSERT_TRUE(error.has_value());
  EXPECT_TRUE(says(error->reason(), "cuInit"));
}

TEST(Loader, NamesARequiredSymbolThatIsMissing) {
  const auto error = refusal(fake("without_required"));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->capability(), "cuMemAlloc");
  EXPECT_TRUE(says(error->needs(), "3.2"));
}

TEST(Loader, AcceptsAMissingOptionalSymbolUntilItIsCalled) {
  const Driver driver = Driver::open(fake("without_optional"));
  EXPECT_EQ(driver.missing_symbols(), std::vector<std::string>{"cuStreamWaitValue32"});
  EXPECT_FALSE(driver.has(symbol::stream_wait_value32));
  try {
    driver.call(symbol::stream_wait_value32)(nullptr, CUdeviceptr{0}, 0u, 0u);
    FAIL() << "called a symbol that is missing";
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.capability(), "cuStreamWaitValue32");
    EXPECT_TRUE(says(error.needs(), "11.7"));
  }
}

TEST(Loader, CountsNoDevicesWhereTheDriverFindsNone) {
  EXPECT_EQ(Driver::open(fake("no_device")).device_count(), 0);
}

}  // namespace
}  // namespace isthmus

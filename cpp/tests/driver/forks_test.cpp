// CUDA doesn't survive fork(): a child of fork() finds out, and may not use the driver.
#include "driver/forks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "driver/child_process.hpp"
#include "driver/driver.hpp"
#include "messages.hpp"

namespace isthmus {
namespace {

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

/// True if the action throws UsageError that says what a forked child can do.
bool is_refused(const std::function<void()>& action) {
  return test::message_of<UsageError>(action).find("start processes by spawn") != std::string::npos;
}

/// A descriptor without use, closed by the destructor.
class Descriptor {
public:
  ~Descriptor() { ::close(number); }
  const int number = ::open("/dev/null", O_RDONLY);
};

TEST(Forks, ChangeTheGenerationOfTheChildOnly) {
  watch_forks();
  const std::uint64_t before = process_generation();
  EXPECT_TRUE(holds_in_child([before] { return process_generation() != before; }));
  EXPECT_EQ(process_generation(), before);
}

TEST(Forks, GiveEachGenerationItsOwnNumber) {
  watch_forks();
  const std::uint64_t parent = process_generation();
  EXPECT_TRUE(holds_in_child([parent] {
    const std::uint64_t child = process_generation();
    return holds_in_child(
        [=] { return process_generation() != child && process_generation() != parent; });
  }));
}

TEST(Forks, CloseWatchedDescriptorsInTheChildOnly) {
  const Descriptor watched;
  const Descriptor other;
  close_in_children(watched.number);
  EXPECT_TRUE(holds_in_child([&] { return !is_open(watched.number) && is_open(other.number); }));
  EXPECT_TRUE(is_open(watched.number));
  forget_descriptor(watched.number);
}

TEST(Forks, LeaveForgottenDescriptorsOpen) {
  const Descriptor forgotten;
  const Descriptor watched;
  close_in_children(forgotten.number);
  close_in_children(watched.number);
  forget_descriptor(forgotten.number);
  forget_descriptor(forgotten.number);
  EXPECT_TRUE(
      holds_in_child([&] { return is_open(forgotten.number) && !is_open(watched.number); }));
  forget_descriptor(watched.number);
}

TEST(Forks, CloseADescriptorOnlyInTheFirstOfTwoGenerations) {
  const Descriptor watched;
  close_in_children(watched.number);
  EXPECT_TRUE(holds_in_child([&] {
    // The number is free now, and may be reused by anything.
    const Descriptor taken;
    return taken.number == watched.number && holds_in_child([&] { return is_open(taken.number); });
  }));
  forget_descriptor(watched.number);
}

TEST(ForkedDriver, RefusesItsFunctionsInTheChildOnly) {
  const Driver driver = Driver::open("emulated:small");
  EXPECT_TRUE(driver.in_own_process());
  EXPECT_TRUE(holds_in_child([&] {
    int count = 0;
    return !driver.in_own_process() && is_refused([&] { (void)driver.device_count(); }) &&
           is_refused([&] { driver.call(symbol::device_get_count)(&count); });
  }));
  EXPECT_EQ(driver.device_count(), 1);
}

TEST(ForkedDriver, CannotBeOpenedAgainInTheChild) {
  const Driver driver = Driver::open("emulated:small");
  EXPECT_TRUE(holds_in_child([] {
    return is_refused([] { Driver::open("emulated:small"); }) &&
           holds_in_child([] { return is_refused([] { Driver::open("emulated:small"); }); });
  }));
}

TEST(ForkedDriver, IsStoodForInTheChildByOneWithoutDevices) {
  const Driver driver = Driver::open("emulated:small");
  EXPECT_TRUE(holds_in_child([] {
    const Driver child = Driver::open_or_absent("emulated:small");
    return !child.has_devices() && is_refused([&] { child.require_devices(); }) &&
           is_refused([&] { child.call(symbol::ctx_get_current); }) &&
           is_refused([&] { (void)child.device_count(); });
  }));
  EXPECT_TRUE(Driver::open_or_absent("emulated:small").has_devices());
}

TEST(ForkedDriver, MayBeFoundInTheChildWithoutBeingOpened) {
  const Driver driver = Driver::open("emulated:small");
  EXPECT_TRUE(holds_in_child([] {
    Driver::find("emulated:small");
    return true;
  }));
}

TEST(ForkedDriver, ThatIsAbsentStillSaysWhyInTheChild) {
  const Driver absent = Driver::absent("there is no library", "an NVIDIA driver");
  EXPECT_TRUE(holds_in_child([&] {
    const auto ask = [&] { absent.call(symbol::device_get_count); };
    return absent.device_count() == 0 && !test::message_of<Unavailable>(ask).empty();
  }));
}

}  // namespace
}  // namespace isthmus

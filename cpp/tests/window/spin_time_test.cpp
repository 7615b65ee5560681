// $ISTHMUS_SPIN_US.
#include "window/copies/copy_cpus.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "host/cpu/spinning_worker.hpp"

namespace isthmus::window {
namespace {

TEST(SpinTime, IsInMicroseconds) {
  EXPECT_EQ(spin_time_from("0"), std::chrono::microseconds{0});
  EXPECT_EQ(spin_time_from("200"), std::chrono::microseconds{200});
  EXPECT_EQ(spin_time_from("1000000"), std::chrono::seconds{1});
  EXPECT_EQ(spin_time_from(""), host::kDefaultSpinTime);
}

TEST(SpinTime, AnythingElseIsRefusedWithTheValue) {
  for (const char* const wrong : {"-1", "1.5", "50us", " 50", "1000001", "99999999999999999999"}) {
    try {
      spin_time_from(wrong);
      FAIL() << wrong;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "ISTHMUS_SPIN_US is '" + std::string(wrong) +
                    "'; it must be a whole number of microseconds up to 1000000, or not be set");
    }
  }
}

}  // namespace
}  // namespace isthmus::window

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <isthmus/isthmus.h>

#include "capi/device_memory.hpp"

namespace isthmus::test {
namespace {

class CCopy : public ::testing::Test {
protected:
  static constexpr std::size_t kBytes = 200'000;
  void* device(std::size_t offset = 0) {
    return reinterpret_cast<void*>(memory.pointer() + offset);
  }
  bool says(const std::string& part) const {
    return std::string(error.message).find(part) != std::string::npos;
  }

  DeviceMemory memory{kBytes};
  isthmus_error error{};
};

TEST_F(CCopy, CarriesBytesBothWays) {
  const auto bytes = pattern(70'001);
  ASSERT_EQ(isthmus_copy(device(777), bytes.data(), bytes.size(), nullptr, &error), ISTHMUS_OK)
      << error.message;
  EXPECT_EQ(memory.read(777, bytes.size()), bytes);
  std::vector<std::uint8_t> seen(bytes.size());
  ASSERT_EQ(isthmus_copy(seen.data(), device(777), seen.size(), nullptr, &error), ISTHMUS_OK);
  EXPECT_EQ(seen, bytes);
}

TEST_F(CCopy, TakesThePathThatIsNamed) {
  const auto bytes = pattern(5000);
  isthmus_copy_options options = ISTHMUS_COPY_OPTIONS_INIT;
  for (const char* const path : {"window", "window_threads", "driver", "staged", "registered"}) {
    options.path = path;
    memory.write(0, std::vector<std::uint8_t>(bytes.size(), 0));
    ASSERT_EQ(isthmus_copy(device(), bytes.data(), bytes.size(), &options, &error), ISTHMUS_OK)
        << error.message;
    EXPECT_EQ(memory.read(0, bytes.size()), bytes) << path;
  }
  options.path = "sideways";
  EXPECT_EQ(isthmus_copy(device(), bytes.data(), 1, &options, &error), ISTHMUS_USAGE_ERROR);
}

TEST_F(CCopy, IsCompleteAfterItsFutureWasWaitedFor) {
  const auto bytes = pattern(90'000);
  isthmus_future* future = nullptr;
  ASSERT_EQ(isthmus_copy_async(device(), bytes.data(), bytes.size(), nullptr, &future, &error),
            ISTHMUS_OK);
  ASSERT_EQ(isthmus_future_wait(future, &error), ISTHMUS_OK) << error.message;
  int ready = 0;
  EXPECT_EQ(isthmus_future_ready(future, &ready, &error), ISTHMUS_OK);
  EXPECT_EQ(ready, 1);
  isthmus_future_free(future);
  EXPECT_EQ(memory.read(0, bytes.size()), bytes);
}

TEST_F(CCopy, IsExplainedBeforeItIsMade) {
  const auto bytes = pattern(1000);
  isthmus_copy_plan plan{};
  plan.struct_size = sizeof plan;
  ASSERT_EQ(isthmus_explain_copy(device(), bytes.data(), 1000, nullptr, &plan, &error), ISTHMUS_OK);
  EXPECT_STREQ(plan.source, "pageable");
  EXPECT_STREQ(plan.target, "device");
  EXPECT_GT(plan.seconds, 0);
  EXPECT_NE(std::string(plan.path), "");
}

TEST_F(CCopy, RefusesInvalidArgumentsWithTheReason) {
  std::uint8_t byte = 0;
  EXPECT_EQ(isthmus_copy(nullptr, &byte, 1, nullptr, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_TRUE(says("null pointer")) << error.message;
  EXPECT_EQ(isthmus_copy_async(device(), &byte, 1, nullptr, nullptr, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(isthmus_future_wait(nullptr, &error), ISTHMUS_USAGE_ERROR);
  isthmus_copy_options options = ISTHMUS_COPY_OPTIONS_INIT;
  options.struct_size = 4;
  EXPECT_EQ(isthmus_copy(device(), &byte, 1, &options, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_TRUE(says("ISTHMUS_COPY_OPTIONS_INIT")) << error.message;
  isthmus_copy_plan plan{};
  EXPECT_EQ(isthmus_explain_copy(device(), &byte, 1, nullptr, &plan, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(isthmus_copy(nullptr, nullptr, 0, nullptr, &error), ISTHMUS_OK);
}

TEST_F(CCopy, GoesOnAfterTrimming) {
  std::uint8_t byte = 9;
  ASSERT_EQ(isthmus_copy(device(), &byte, 1, nullptr, &error), ISTHMUS_OK);
  ASSERT_EQ(isthmus_trim(&error), ISTHMUS_OK);
  ASSERT_EQ(isthmus_copy(device(1), &byte, 1, nullptr, &error), ISTHMUS_OK);
  EXPECT_EQ(memory.read(0, 2), (std::vector<std::uint8_t>{9, 9}));
}

}  // namespace
}  // namespace isthmus::test

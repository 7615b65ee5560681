#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include <isthmus/isthmus.h>

#include "capi/child_process.hpp"
#include "capi/device_memory.hpp"

namespace isthmus::test {
namespace {

class CWindow : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(isthmus_window_open(memory.pointer(), kBytes, nullptr, &window, &error), ISTHMUS_OK)
        << error.message;
  }
  void TearDown() override { isthmus_window_close(window); }

  static constexpr std::size_t kBytes = 200'000;
  DeviceMemory memory{kBytes};
  isthmus_window* window = nullptr;
  isthmus_error error{};
};

TEST_F(CWindow, WrittenBytesAreWhatTheDeviceReads) {
  const auto bytes = pattern(1001);
  ASSERT_EQ(isthmus_window_write(window, 12345, bytes.data(), bytes.size(), &error), ISTHMUS_OK);
  EXPECT_EQ(memory.read(12345, bytes.size()), bytes);
  EXPECT_EQ(memory.read(12344, 1)[0], 0xA5);
  EXPECT_EQ(memory.read(12345 + bytes.size(), 1)[0], 0xA5);
}

TEST_F(CWindow, ReadBytesAreWhatTheDeviceWrote) {
  const auto bytes = pattern(70'001);
  memory.write(777, bytes);
  std::vector<std::uint8_t> seen(bytes.size());
  ASSERT_EQ(isthmus_window_read(window, seen.data(), 777, seen.size(), &error), ISTHMUS_OK);
  EXPECT_EQ(seen, bytes);
}

TEST_F(CWindow, PostsArriveWithTheFence) {
  const std::vector<std::uint8_t> bytes{1, 2, 3};
  for (std::size_t at = 0; at < bytes.size(); ++at)
    ASSERT_EQ(isthmus_window_post(window, at, &bytes[at], 1, &error), ISTHMUS_OK);
  isthmus_fence();
  EXPECT_EQ(memory.read(0, 3), bytes);
}

TEST_F(CWindow, ItsDataIsTheMappingItself) {
  auto* const data = static_cast<std::uint8_t*>(isthmus_window_data(window));
  data[5] = 42;
  isthmus_fence();
  EXPECT_EQ(memory.read(5, 1)[0], 42);
  EXPECT_EQ(isthmus_window_size(window), kBytes);
  EXPECT_EQ(isthmus_window_device_pointer(window), memory.pointer());
}

TEST_F(CWindow, WhatIsMappedIsWholePagesAroundIt) {
  isthmus_window* inner = nullptr;
  isthmus_window_options options = ISTHMUS_WINDOW_OPTIONS_INIT;
  options.page_bytes = 65536;
  DeviceMemory other(kBytes);
  ASSERT_EQ(isthmus_window_open(other.pointer() + 70'000, 10, &options, &inner, &error), ISTHMUS_OK)
      << error.message;
  EXPECT_EQ(isthmus_window_mapped_device_pointer(inner), other.pointer() + 65536);
  EXPECT_EQ(isthmus_window_mapped_size(inner), 65536U);
  EXPECT_EQ(static_cast<std::uint8_t*>(isthmus_window_mapped_data(inner)) + (70'000 - 65536),
            isthmus_window_data(inner));
  isthmus_window_close(inner);
}

TEST_F(CWindow, ItSaysHowItWasMadeAndHowItCopies) {
  EXPECT_TRUE(std::strcmp(isthmus_window_backend(window), "dmabuf") == 0 ||
              std::strcmp(isthmus_window_backend(window), "rm") == 0 ||
              std::strcmp(isthmus_window_backend(window), "gdrdrv") == 0)
      << isthmus_window_backend(window);
  EXPECT_GT(std::strlen(isthmus_window_instructions(window)), 0U);
}

TEST_F(CWindow, ZeroBytesMayBeWrittenAndReadAnywhereInsideAndFromNowhere) {
  EXPECT_EQ(isthmus_window_write(window, kBytes, nullptr, 0, &error), ISTHMUS_OK);
  EXPECT_EQ(isthmus_window_read(window, nullptr, 0, 0, &error), ISTHMUS_OK);
}

TEST_F(CWindow, ARangeThatIsNotInsideItIsRefusedAndNothingIsCopied) {
  const auto bytes = pattern(8);
  struct {
    std::size_t offset, size;
  } const cases[] = {{kBytes - 7, 8}, {kBytes + 1, 0}, {SIZE_MAX - 3, 8}, {0, SIZE_MAX}};
  for (const auto& [offset, size] : cases) {
    EXPECT_EQ(isthmus_window_write(window, offset, bytes.data(), size, &error),
              ISTHMUS_USAGE_ERROR);
    EXPECT_NE(std::string(error.message).find(std::to_string(offset)), std::string::npos);
    EXPECT_EQ(isthmus_window_post(window, offset, bytes.data(), size, nullptr),
              ISTHMUS_USAGE_ERROR);
    std::uint8_t target = 9;
    EXPECT_EQ(isthmus_window_read(window, &target, offset, size, nullptr), ISTHMUS_USAGE_ERROR);
    EXPECT_EQ(target, 9);
  }
  EXPECT_EQ(memory.all(), std::vector<std::uint8_t>(kBytes, 0xA5));
}

TEST_F(CWindow, ANullHostAddressIsRefused) {
  EXPECT_EQ(isthmus_window_write(window, 0, nullptr, 4, &error), ISTHMUS_USAGE_ERROR);
  EXPECT_STREQ(error.message, "the host address of 4 bytes is a null pointer");
  EXPECT_EQ(isthmus_window_post(window, 0, nullptr, 4, nullptr), ISTHMUS_USAGE_ERROR);
  EXPECT_EQ(isthmus_window_read(window, nullptr, 0, 4, nullptr), ISTHMUS_USAGE_ERROR);
}

TEST_F(CWindow, SeveralThreadsMayWriteAtOnce) {
  constexpr std::size_t kPart = kBytes / 4;
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part)
    threads.emplace_back([&, part] {
      const std::vector<std::uint8_t> bytes(kPart, static_cast<std::uint8_t>(part));
      for (int round = 0; round < 10; ++round)
        EXPECT_EQ(isthmus_window_write(window, part * kPart, bytes.data(), kPart, nullptr),
                  ISTHMUS_OK);
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t part = 0; part < 4; ++part)
    EXPECT_EQ(memory.read(part * kPart, kPart),
              std::vector<std::uint8_t>(kPart, static_cast<std::uint8_t>(part)));
}

TEST_F(CWindow, BAR1BytesAreCountedWhileItIsOpen) {
  std::uint64_t before = 0;
  std::uint64_t during = 0;
  std::uint64_t after = 0;
  ASSERT_EQ(isthmus_bar1_usage(0, &before, nullptr, &error), ISTHMUS_OK) << error.message;
  DeviceMemory other(kBytes);
  isthmus_window* second = nullptr;
  ASSERT_EQ(isthmus_window_open(other.pointer(), kBytes, nullptr, &second, nullptr), ISTHMUS_OK);
  ASSERT_EQ(isthmus_bar1_usage(0, &during, nullptr, nullptr), ISTHMUS_OK);
  const std::size_t mapped = isthmus_window_mapped_size(second);
  isthmus_window_close(second);
  ASSERT_EQ(isthmus_bar1_usage(0, &after, nullptr, nullptr), ISTHMUS_OK);
  EXPECT_GE(mapped, kBytes);
  EXPECT_EQ(during, before + mapped);
  EXPECT_EQ(after, before);
}

TEST_F(CWindow, ItKnowsWhenItsBufferIsFreed) {
  int alive = -1;
  isthmus_window* other_window = nullptr;
  {
    DeviceMemory other(kBytes);
    ASSERT_EQ(isthmus_window_open(other.pointer(), kBytes, nullptr, &other_window, nullptr),
              ISTHMUS_OK);
    ASSERT_EQ(isthmus_window_is_alive(other_window, &alive, &error), ISTHMUS_OK);
    EXPECT_EQ(alive, 1);
  }
  ASSERT_EQ(isthmus_window_is_alive(other_window, &alive, &error), ISTHMUS_OK);
  EXPECT_EQ(alive, 0);
  isthmus_window_close(other_window);
}

TEST_F(CWindow, AChildOfForkIsRefusedAndTheParentGoesOn) {
  const int child = in_child([&] {
    char byte = 1;
    if (isthmus_window_write(window, 0, &byte, 1, &error) != ISTHMUS_USAGE_ERROR) return 1;
    if (isthmus_window_read(window, &byte, 0, 1, nullptr) != ISTHMUS_USAGE_ERROR) return 2;
    isthmus_window* second = nullptr;
    if (isthmus_window_open(memory.pointer(), 8, nullptr, &second, &error) != ISTHMUS_USAGE_ERROR)
      return 3;
    if (std::strstr(error.message, "fork") == nullptr) return 4;
    isthmus_window_close(window);
    return 0;
  });
  EXPECT_EQ(child, 0);
  const auto bytes = pattern(64);
  EXPECT_EQ(isthmus_window_write(window, 0, bytes.data(), bytes.size(), nullptr), ISTHMUS_OK);
  EXPECT_EQ(memory.read(0, 64), bytes);
}

TEST_F(CWindow, AChildOfForkHasNoMapping) {
  EXPECT_EQ(signal_of_loading(isthmus_window_data(window)), SIGSEGV);
}

}  // namespace
}  // namespace isthmus::test

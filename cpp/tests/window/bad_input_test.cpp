// Memory that no window opens on, and copies that no window makes: the error says why, and no byte
// is written.
#include <cstdint>
#include <deque>
#include <limits>

#include "environment_variable.hpp"
#include "window/windows_under_test.hpp"

namespace isthmus::window {
namespace {

constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();

class Opening : public WindowsUnderTest {
protected:
  std::string refusal(CUdeviceptr pointer, std::size_t size_bytes,
                      const WindowOptions& options = {}) {
    const auto message = message_of<UsageError>(
        [&] { Window window = windows().open(pointer, size_bytes, options); });
    EXPECT_EQ(windows().mapped_bytes(0), 0u) << "a refused window left something mapped";
    return message;
  }
};

TEST_F(Opening, OnANullPointerIsRefused) { EXPECT_TRUE(says(refusal(0, 4), "null")); }

TEST_F(Opening, OnPageableMemoryIsRefused) {
  Bytes host(kMiB);
  EXPECT_NE(refusal(reinterpret_cast<CUdeviceptr>(host.data()), 4), "");
}

TEST_F(Opening, OnPinnedMemoryIsRefused) {
  const auto host = reinterpret_cast<CUdeviceptr>(pinned_memory(kMiB));
  EXPECT_TRUE(says(refusal(host, 4), "host memory"));
}

TEST_F(Opening, OnRegisteredMemoryIsRefused) {
  Bytes host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size(), 0u);
  EXPECT_TRUE(says(refusal(reinterpret_cast<CUdeviceptr>(host.data()), 4), "host memory"));
  driver().call(symbol::mem_host_unregister)(host.data());
}

TEST_F(Opening, OnManagedMemoryIsRefused) {
  EXPECT_TRUE(says(refusal(managed_memory(kMiB), 4), "managed memory"));
}

TEST_F(Opening, OnFreedMemoryIsRefused) {
  const CUdeviceptr gone = allocated(64 * kMiB);
  free(gone);
  EXPECT_TRUE(says(refusal(gone, 4), "freed"));
}

TEST_F(Opening, OnAnAddressThatWasNeverAllocatedIsRefused) {
  EXPECT_NE(refusal(1, 4), "");
  EXPECT_NE(refusal(kMax - 3, 4), "");
}

TEST_F(Opening, OnNoBytesIsRefused) {
  EXPECT_TRUE(says(refusal(device_memory(kMiB), 0), "at least one byte"));
}

TEST_F(Opening, BeyondTheEndOfTheBufferIsRefused) {
  const CUdeviceptr device = device_memory(64 * kMiB);
  EXPECT_NE(refusal(device, 64 * kMiB + 1), "");
  EXPECT_NE(refusal(device + 64 * kMiB - 1, 2), "");
  EXPECT_NE(refusal(device + 64 * kMiB, 1), "");
  EXPECT_NE(refusal(device + 1, kMax), "");
  EXPECT_NE(refusal(device, kMax), "");
}

TEST_F(Opening, BeyondTheEndOfASmallBufferIsRefusedThoughThePageGoesOn) {
  const CUdeviceptr device = device_memory(1000);
  device_memory(1000);  // the next allocation isn't ours
  EXPECT_NE(refusal(device, 4096), "");
}

TEST_F(Opening, BeyondTheEndOfASmallBufferIsRefusedThoughAMappingCoversItAlready) {
  const CUdeviceptr device = device_memory(1000);
  const Window window = windows().open(device, 1000);
  ASSERT_GE(window.mapped_bytes(), 2048u);
  EXPECT_NE(message_of<UsageError>([&] { windows().open(device, 2048); }), "");
  EXPECT_NE(message_of<UsageError>([&] { windows().open(device + 1000, 100); }), "");
}

TEST_F(Opening, BeyondTheEndOfAllAddressesIsRefusedThoughAMappingIsOpenAlready) {
  const CUdeviceptr device = device_memory(64 * kMiB);
  const Window window = windows().open(device, kMiB);
  for (const std::size_t size_bytes : {kMax, kMax - 1, kMax - 4095, kMax - 4096}) {
    EXPECT_NE(message_of<UsageError>([&] { windows().open(device, size_bytes); }), "")
        << size_bytes;
    EXPECT_NE(message_of<UsageError>([&] { windows().open(device + 1, size_bytes); }), "")
        << size_bytes;
  }
}

TEST_F(Opening, WithoutAThreadIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  EXPECT_TRUE(says(refusal(device, 4, {.num_threads = 0}), "threads"));
  EXPECT_TRUE(says(refusal(device, 4, {.num_threads = -1}), "threads"));
}

TEST_F(Opening, WithAnInvalidPageSizeIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  for (const std::size_t page_bytes :
       {std::size_t{0}, std::size_t{1000}, std::size_t{2048}, std::size_t{12288}, kMax}) {
    EXPECT_TRUE(says(refusal(device, 4, {.page_bytes = page_bytes}), "pages")) << page_bytes;
  }
}

class ClosedAgain : public WindowsUnderTest {};

TEST_F(ClosedAgain, WindowRefusesEveryCall) {
  Window window = windows().open(device_memory(kMiB), kMiB);
  window.close();
  std::uint8_t byte = 0;
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.write(0, &byte, 1); }), "closed"));
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.post(0, &byte, 1); }), "closed"));
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.read(&byte, 0, 1); }), "closed"));
  EXPECT_TRUE(says(message_of<UsageError>([&] { (void)window.buffer_is_alive(); }), "closed"));
  EXPECT_EQ(window.data(), nullptr);
  EXPECT_EQ(window.mapped_data(), nullptr);
}

/// A window in the middle of a buffer with known contents.
class OutOfRange : public WindowsUnderTest {
protected:
  static constexpr std::size_t kBufferBytes = 64 * kKiB;
  static constexpr std::size_t kOffset = 4100;
  static constexpr std::size_t kWindowBytes = 8200;

  void SetUp() override {
    WindowsUnderTest::SetUp();
    if (IsSkipped()) return;
    buffer_ = device_memory(kBufferBytes);
    fill(buffer_, kBufferBytes, 0x11);
  }
  Window open() { return windows().open(buffer_ + kOffset, kWindowBytes); }

  /// Tries to write and to read there; expects errors, and unchanged bytes.
  void expect_refused(Window& window, std::size_t offset_bytes, std::size_t size_bytes) {
    Bytes host(kBufferBytes, 0x22);
    const Bytes untouched = host;
    const auto named = std::to_string(offset_bytes);
    EXPECT_TRUE(
        says(message_of<UsageError>([&] { window.write(offset_bytes, host.data(), size_bytes); }),
             named));
    EXPECT_TRUE(
        says(message_of<UsageError>([&] { window.post(offset_bytes, host.data(), size_bytes); }),
             named));
    EXPECT_TRUE(
        says(message_of<UsageError>([&] { window.read(host.data(), offset_bytes, size_bytes); }),
             named));
    Window::fence();
    EXPECT_EQ(host, untouched);
    EXPECT_EQ(on_device(buffer_, kBufferBytes), Bytes(kBufferBytes, 0x11));
  }

private:
  CUdeviceptr buffer_ = 0;
};

TEST_F(OutOfRange, OffsetIsRefused) {
  Window window = open();
  expect_refused(window, kWindowBytes, 1);
  expect_refused(window, kWindowBytes + 1, 0);
  expect_refused(window, kMax, 1);
}

TEST_F(OutOfRange, LengthIsRefused) {
  Window window = open();
  expect_refused(window, 0, kWindowBytes + 1);
  expect_refused(window, 1, kWindowBytes);
  expect_refused(window, 0, kMax);
}

TEST_F(OutOfRange, SumThatOverflowsIsRefused) {
  Window window = open();
  expect_refused(window, 2, kMax - 1);
  expect_refused(window, kMax, kMax);
  expect_refused(window, kMax - 7, 16);
}

TEST_F(OutOfRange, ZeroBytesInsideTheWindowAreAllowed) {
  Window window = open();
  EXPECT_NO_THROW(window.write(kWindowBytes, nullptr, 0));
  EXPECT_NO_THROW(window.post(0, nullptr, 0));
  EXPECT_NO_THROW(window.read(nullptr, 17, 0));
}

class Bar1Limit : public WindowsUnderTest {};

TEST_F(Bar1Limit, RefusesAWindowBeyondItAndSaysWhatIsMapped) {
  Windows limited(driver(), {.backend = "", .bar1_limit_bytes = 4 * kMiB});
  const CUdeviceptr device = device_memory(8 * kMiB);
  Window first = limited.open(device, 3 * kMiB);
  const auto message = message_of<Unavailable>([&] { limited.open(device + 4 * kMiB, 3 * kMiB); });
  EXPECT_TRUE(says(message, "BAR1")) << message;
  EXPECT_TRUE(says(message, std::to_string(4 * kMiB))) << message;
  EXPECT_EQ(limited.mapped_bytes(0), 3 * kMiB);
}

TEST_F(Bar1Limit, HasRoomAgainOnceAWindowIsClosed) {
  Windows limited(driver(), {.backend = "", .bar1_limit_bytes = 4 * kMiB});
  const CUdeviceptr device = device_memory(8 * kMiB);
  Window first = limited.open(device, 3 * kMiB);
  first.close();
  EXPECT_EQ(limited.mapped_bytes(0), 0u);
  Window second = limited.open(device + 4 * kMiB, 4 * kMiB);
  const Bytes sent = pattern(kKiB, 1);
  second.write(0, sent.data(), sent.size());
  EXPECT_EQ(on_device(device + 4 * kMiB, kKiB), sent);
}

/// Settings in an environment that is restored.
class Settings : public WindowsUnderTest {
protected:
  void set(const char* variable, const char* value) { variables_.emplace_back(variable, value); }
  void TearDown() override {
    while (!variables_.empty()) variables_.pop_back();
    WindowsUnderTest::TearDown();
  }

private:
  std::deque<isthmus::test::EnvironmentVariable> variables_;
};

TEST_F(Settings, OfABackendThatThereIsNotAreRefused) {
  EXPECT_TRUE(
      says(message_of<UsageError>([] { Windows(driver(), {.backend = "bar1"}); }), "'bar1'"));
  set("ISTHMUS_WINDOW", "DMABUF");
  const auto message = message_of<UsageError>([] { (void)WindowSettings::from_environment(); });
  EXPECT_TRUE(says(message, "ISTHMUS_WINDOW") && says(message, "'DMABUF'")) << message;
}

TEST_F(Settings, OfALimitThatIsNoNumberAreRefused) {
  for (const char* wrong : {"0", "-1", "64M", " 64", "1e3", "99999999999999999999"}) {
    set("ISTHMUS_WINDOW_BAR1_MIB", wrong);
    const auto message = message_of<UsageError>([] { (void)WindowSettings::from_environment(); });
    EXPECT_TRUE(says(message, "ISTHMUS_WINDOW_BAR1_MIB")) << wrong << ": " << message;
  }
}

TEST_F(Settings, AreReadFromTheEnvironment) {
  set("ISTHMUS_WINDOW", "rm");
  set("ISTHMUS_WINDOW_BAR1_MIB", "64");
  const WindowSettings settings = WindowSettings::from_environment();
  EXPECT_EQ(settings.backend, "rm");
  EXPECT_EQ(settings.bar1_limit_bytes, 64 * kMiB);
}

TEST_F(Settings, CanTurnWindowsOff) {
  Windows off(driver(), {.backend = "off"});
  const CUdeviceptr device = device_memory(kMiB);
  EXPECT_TRUE(says(message_of<Unavailable>([&] { off.open(device, kMiB); }), "ISTHMUS_WINDOW=off"));
}

class NoBackend : public WindowsUnderTest {};

TEST_F(NoBackend, IsUnavailableForTheReasonThatEachGave) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver's backends may all work";
  const CUdeviceptr device = device_memory(kMiB);
  for (const char* backend : {"gdrdrv", "rm"}) {
    Windows only(driver(), {.backend = backend});
    const auto message = message_of<Unavailable>([&] { only.open(device, kMiB); });
    EXPECT_TRUE(says(message, std::string(backend) + ": the emulated driver has no device files"))
        << message;
  }
}

/// A backend may be unable to map memory of cuMemCreate that isn't exportable, but never silently.
TEST_F(NoBackend, ForMemoryThatIsNotExportableIsAnErrorOrAWindowThatWorks) {
  const CUdeviceptr device = created_memory(1, false);
  const Bytes sent = pattern(kKiB, 1);
  const auto message = message_of<Unavailable>([&] {
    Window window = windows().open(device, granule_bytes());
    window.write(0, sent.data(), sent.size());
    EXPECT_EQ(on_device(device, kKiB), sent);
  });
  if (driver().emulated()) {
    EXPECT_EQ(message, "");
  }
}

}  // namespace
}  // namespace isthmus::window

// "Lifetime" in window.hpp, sentence by sentence: what a window keeps, shares, shows and leaves.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "driver/child_process.hpp"
#include "window/windows_under_test.hpp"

namespace isthmus::window {
namespace {

/// Sanitizers keep freed memory for a while, and need more memory themselves.
#ifdef ISTHMUS_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr std::size_t kLarge = 64 * kMiB;  // doesn't share pages with other buffers

class Lifetime : public WindowsUnderTest {
protected:
  /// Bytes of a freed buffer, or nothing if the window refuses to read.
  static std::optional<Bytes> bytes_or_refusal(const Window& window, std::size_t size_bytes) {
    std::optional<Bytes> bytes;
    const auto message = message_of<UsageError>([&] { bytes = read(window, 0, size_bytes); });
    if (!bytes) {
      EXPECT_TRUE(says(message, "freed")) << message;
    }
    return bytes;
  }
};

// --- what is freed while a window is open

TEST_F(Lifetime, OfPagesIsTheWindowsThoughTheBufferIsFreed) {
  const CUdeviceptr gone = allocated(kLarge);
  const Bytes sent = pattern(4 * kKiB, 1);
  send_to_device(gone, sent);
  Window window = windows().open(gone, kLarge, {.check = BufferCheck::on_opening});
  if (window.backend() == WindowBackend::gdrdrv) GTEST_SKIP() << "gdrdrv unmaps what is freed";
  free(gone);
  EXPECT_EQ(read(window, 0, sent.size()), sent);
}

TEST_F(Lifetime, OfDeviceMemoryIsTheWindowsToo) {
  const std::size_t before_bytes = free_bytes();
  const CUdeviceptr gone = allocated(kLarge);
  Window window = windows().open(gone, kLarge);
  if (window.backend() != WindowBackend::rm) GTEST_SKIP() << "only the rm backend is known to";
  free(gone);
  EXPECT_LE(free_bytes(), before_bytes - kLarge);
  window.close();
  EXPECT_GE(free_bytes(), before_bytes - 8 * kMiB) << "closing did not give the memory back";
}

TEST_F(Lifetime, OfAFreedBufferEndsWithoutShowingTheNextOneAtItsAddress) {
  const CUdeviceptr gone = allocated(kLarge);
  fill(gone, kLarge, 0x11);
  Window window = windows().open(gone, kLarge);
  if (window.backend() == WindowBackend::gdrdrv) GTEST_SKIP() << "gdrdrv unmaps what is freed";
  free(gone);
  const CUdeviceptr next = allocated(kLarge);
  fill(next, kLarge, 0x22);
  const auto seen = bytes_or_refusal(window, kKiB);
  if (seen) {
    EXPECT_EQ(*seen, Bytes(kKiB, 0x11));
  }
  const Bytes sent(kKiB, 0x33);
  message_of<UsageError>([&] { window.write(0, sent.data(), sent.size()); });
  EXPECT_EQ(on_device(next, kKiB), Bytes(kKiB, 0x22)) << "a stale window wrote into another buffer";
  free(next);
}

TEST_F(Lifetime, OfASmallBufferInASharedPageEndsWithIt) {
  const CUdeviceptr neighbour = device_memory(512);
  const CUdeviceptr gone = allocated(512);
  Window window = windows().open(gone, 512);
  free(gone);
  const CUdeviceptr next = allocated(512);
  fill(next, 512, 0x22);
  fill(neighbour, 512, 0x44);
  const Bytes sent(512, 0x33);
  Bytes found(512);
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.write(0, sent.data(), 512); }), "freed"));
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.post(0, sent.data(), 512); }), "freed"));
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.read(found.data(), 0, 512); }), "freed"));
  EXPECT_EQ(found, Bytes(512, 0));
  EXPECT_EQ(on_device(next, 512), Bytes(512, 0x22));
  EXPECT_EQ(on_device(neighbour, 512), Bytes(512, 0x44));
  free(next);
}

TEST_F(Lifetime, OfMemoryOfCuMemCreateDoesNotFollowItToAnotherAddress) {
  const CUdeviceptr gone = created_memory(2);
  Window window = windows().open(gone, granule_bytes());
  CUmemGenericAllocationHandle handle = 0;
  driver().call(symbol::mem_retain_allocation_handle)(&handle, reinterpret_cast<void*>(gone));
  driver().call(symbol::mem_unmap)(gone, granule_bytes());  // its bytes now belong to the handle
  const std::uint8_t byte = 1;
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.write(0, &byte, 1); }), "freed"));
  driver().call(symbol::mem_map)(gone, granule_bytes(), std::size_t{0}, handle, 0ull);
  driver().call(symbol::mem_release)(handle);
}

TEST_F(Lifetime, IsCheckedByEachCallIfTheOptionSaysSo) {
  const CUdeviceptr gone = allocated(kLarge);
  Window window = windows().open(gone, kLarge, {.check = BufferCheck::each_call});
  std::uint8_t byte = 1;
  EXPECT_NO_THROW(window.write(0, &byte, 1));
  free(gone);
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.write(0, &byte, 1); }), "freed"));
  EXPECT_TRUE(says(message_of<UsageError>([&] { window.read(&byte, 0, 1); }), "freed"));
}

TEST_F(Lifetime, OfTheBufferCanBeAskedFor) {
  for (const std::size_t size_bytes : {std::size_t{100}, kLarge}) {
    const CUdeviceptr gone = allocated(size_bytes);
    const Window window = windows().open(gone, size_bytes);
    EXPECT_TRUE(window.buffer_is_alive());
    free(gone);
    EXPECT_FALSE(window.buffer_is_alive());
    const CUdeviceptr next = allocated(size_bytes);
    EXPECT_FALSE(window.buffer_is_alive()) << "another buffer at the address passes for it";
    free(next);
  }
}

TEST_F(Lifetime, OfAWindowDoesNotReachTheNextBufferAtItsAddress) {
  for (const std::size_t size_bytes : {std::size_t{100}, kLarge}) {
    for (int round = 1; round <= 5; ++round) {
      const CUdeviceptr device = allocated(size_bytes);
      Window window = windows().open(device, size_bytes);
      const Bytes sent = pattern(100, static_cast<unsigned>(round));
      window.write(0, sent.data(), sent.size());
      EXPECT_EQ(on_device(device, sent.size()), sent) << "round " << round;
      free(device);  // the window closes after its buffer's free; the next one is opened anew
    }
  }
}

// --- windows that share

TEST_F(Lifetime, OfAMappingIsSharedByWindowsOnTheSamePages) {
  const CUdeviceptr device = device_memory(kLarge);
  Window first = windows().open(device, kLarge);
  const auto mapped_bytes = windows().mapped_bytes(0);
  Window again = windows().open(device, kLarge);
  Window inside = windows().open(device + 4099, 100);
  EXPECT_EQ(windows().mapped_bytes(0), mapped_bytes);
  EXPECT_EQ(again.data(), first.data());
  EXPECT_EQ(inside.data(), first.data() + 4099);
  const Bytes sent = pattern(100, 1);
  inside.write(0, sent.data(), sent.size());
  EXPECT_EQ(read(again, 4099, 100), sent);
}

TEST_F(Lifetime, OfAMappingIsThatOfItsLastWindow) {
  const CUdeviceptr device = device_memory(kLarge);
  Window first = windows().open(device, kLarge);
  Window second = windows().open(device, kLarge);
  first.close();
  EXPECT_GE(windows().mapped_bytes(0), kLarge);
  const Bytes sent = pattern(kKiB, 1);
  second.write(0, sent.data(), sent.size());
  EXPECT_EQ(on_device(device, kKiB), sent);
  second.close();
  EXPECT_EQ(windows().mapped_bytes(0), 0u);
}

TEST_F(Lifetime, OfAWindowEndsOnceHoweverOftenItIsClosed) {
  const CUdeviceptr device = device_memory(kMiB);
  Window window = windows().open(device, kMiB);
  Window other = windows().open(device, kMiB);
  window.close();
  window.close();
  EXPECT_FALSE(window.is_open());
  EXPECT_TRUE(other.is_open());
  EXPECT_EQ(read(other, 0, 16).size(), 16u);
}

TEST_F(Lifetime, MovesWithTheWindow) {
  const CUdeviceptr device = device_memory(kMiB);
  Window first = windows().open(device, kMiB);
  Window second = std::move(first);
  EXPECT_FALSE(first.is_open());  // the test's subject
  EXPECT_TRUE(second.is_open());
  std::uint8_t byte = 7;
  EXPECT_TRUE(says(message_of<UsageError>([&] { first.write(0, &byte, 1); }), "closed"));
  second.write(3, &byte, 1);
  EXPECT_EQ(on_device(device + 3, 1), Bytes{7});
}

TEST_F(Lifetime, OfAWindowEndsWhenAnotherIsMovedOntoIt) {
  const CUdeviceptr large = device_memory(kLarge);
  const CUdeviceptr other = device_memory(kLarge);
  Window window = windows().open(large, kLarge);
  window = windows().open(other, 4096);
  EXPECT_EQ(windows().mapped_bytes(0), 4096u);
  EXPECT_EQ(window.device_pointer(), other);
  EXPECT_EQ(window.size_bytes(), 4096u);
}

TEST_F(Lifetime, OfAWindowGoesOnWithoutTheWindowsItCameFrom) {
  const CUdeviceptr device = device_memory(kMiB);
  Window window = windows().open(device, kMiB, {.num_threads = 2});
  drop_windows();
  const Bytes sent = pattern(kMiB, 1);
  window.write(0, sent.data(), sent.size());
  EXPECT_EQ(read(window, 0, kMiB), sent);
}

TEST_F(Lifetime, MapsWholePagesAroundTheWindowAndNoMore) {
  const CUdeviceptr device = device_memory(kLarge);
  const Window window = windows().open(device + 4096 + 100, 4000);
  EXPECT_EQ(window.mapped_device_pointer(), device + 4096);
  EXPECT_EQ(window.mapped_bytes(), 8192u);
  EXPECT_EQ(window.data() - window.mapped_data(), 100);
  const Window coarse = windows().open(device + kMiB + 5, 1, {.page_bytes = 65536});
  EXPECT_EQ(coarse.mapped_device_pointer(), device + kMiB);
  EXPECT_EQ(coarse.mapped_bytes(), 65536u);
}

// --- memory of cuMemCreate

TEST_F(Lifetime, OfWindowsOnCreatedMemoryIsLikeAnyOther) {
  const CUdeviceptr device = created_memory(1);
  const Bytes sent = pattern(kKiB, 1);
  {
    Window window = windows().open(device + 5, granule_bytes() - 5);
    window.write(7, sent.data(), sent.size());
  }
  EXPECT_EQ(on_device(device + 12, kKiB), sent);
  EXPECT_EQ(windows().mapped_bytes(0), 0u);
}

TEST_F(Lifetime, OfAWindowMayCoverMappingsThatAdjoin) {
  const CUdeviceptr device = created_memory(3);
  Window window = windows().open(device + 100, 3 * granule_bytes() - 200);
  const Bytes sent = pattern(2 * granule_bytes(), 1);
  const std::size_t offset = granule_bytes() / 2 + 3;
  window.write(offset, sent.data(), sent.size());
  EXPECT_TRUE(on_device(device + 100 + offset, sent.size()) == sent);
  EXPECT_TRUE(read(window, offset, sent.size()) == sent);
}

// --- while a stream is captured

TEST_F(Lifetime, MayBeginWhileAStreamIsCaptured) {
  const CUdeviceptr device = device_memory(kLarge);
  const CUstream captured = stream();
  driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  Window window = windows().open(device, kLarge);  // with all that the first one on a device needs
  const Bytes sent = pattern(kKiB, 1);
  window.write(0, sent.data(), sent.size());
  EXPECT_EQ(read(window, 0, kKiB), sent);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().raw(symbol::stream_end_capture)(captured, &graph), CUDA_SUCCESS)
      << "opening a window broke the capture";
  if (graph != nullptr) driver().call(symbol::graph_destroy)(graph);
  EXPECT_EQ(on_device(device, kKiB), sent);
}

// --- fork

TEST_F(Lifetime, EndsInAForkedChildAndNotInItsParent) {
  const CUdeviceptr device = device_memory(kMiB);
  Window window = windows().open(device, kMiB);
  const Bytes before = pattern(kKiB, 1);
  window.write(0, before.data(), before.size());
  EXPECT_TRUE(holds_in_child([&] {
    Bytes bytes(kKiB, 0x77);
    const auto is_refused = [](auto use) { return says(message_of<UsageError>(use), "forked"); };
    const bool refused = is_refused([&] { window.write(0, bytes.data(), 1); }) &&
                         is_refused([&] { window.post(0, bytes.data(), 1); }) &&
                         is_refused([&] { window.read(bytes.data(), 0, 1); }) &&
                         is_refused([&] { windows().open(device, kMiB); });
    window.close();
    return refused && bytes == Bytes(kKiB, 0x77);
  }));
  EXPECT_TRUE(window.is_open());
  EXPECT_EQ(read(window, 0, kKiB), before);
  const Bytes after = pattern(kKiB, 2);
  window.write(0, after.data(), after.size());
  EXPECT_EQ(on_device(device, kKiB), after);
}

// --- threads

TEST_F(Lifetime, BeginsInSeveralThreadsAtOnceWithOneMapping) {
  const CUdeviceptr device = device_memory(kLarge);
  constexpr std::size_t kNumThreads = 8;
  std::vector<std::optional<Window>> opened(kNumThreads);
  std::vector<std::thread> threads;
  for (auto& slot : opened) {
    threads.emplace_back([&] { slot.emplace(windows().open(device, kLarge)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(windows().mapped_bytes(0), kLarge);
  for (const auto& window : opened) EXPECT_EQ(window->data(), opened.front()->data());
}

TEST_F(Lifetime, OfOneWindowIsSharedByThreadsThatCopyAtOnce) {
  constexpr std::size_t kNumThreads = 4;
  constexpr std::size_t kShare = 64 * kKiB + 13;
  const CUdeviceptr device = device_memory(kNumThreads * kShare);
  Window window = windows().open(device, kNumThreads * kShare, {.num_threads = 2});
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < kNumThreads; ++index) {
    threads.emplace_back([&, index] {
      for (unsigned round = 0; round < 10; ++round) {
        const Bytes sent = pattern(kShare, static_cast<unsigned>(index) * 100 + round);
        window.write(index * kShare, sent.data(), kShare);
        num_wrong += read(window, index * kShare, kShare) != sent;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

// --- many times over

/// Resources that must not grow between 1,000 and 10,000 windows.
struct Holdings {
  std::size_t descriptors;
  std::size_t mappings;
  std::size_t memory_kib;

  static Holdings now() {
    const std::filesystem::directory_iterator open_files("/proc/self/fd");
    return {static_cast<std::size_t>(std::distance(begin(open_files), end(open_files))),
            num_lines("/proc/self/maps"), resident_kib()};
  }

private:
  static std::size_t num_lines(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::size_t count = 0;
    while (std::getline(file, line)) ++count;
    return count;
  }
  /// The process's own memory, without mappings of files and devices.
  static std::size_t resident_kib() {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;) {
      std::size_t kibibytes = 0;
      if (word == "RssAnon:" && file >> kibibytes) return kibibytes;
    }
    return 0;
  }
};

class Cycles : public Lifetime {
protected:
  /// Opens, uses and closes windows of several kinds: on a buffer that stays, and on one that is
  /// freed before its window.
  void cycle(CUdeviceptr staying, unsigned round) {
    const CUdeviceptr passing = allocated(round % 2 == 0 ? 700 : 3 * kMiB);
    {
      Window first = windows().open(staying + (round % 7) * 4099, 10000);
      Window second = windows().open(passing + 3, 600);
      Window third = windows().open(staying, kMiB);
      first.write(5, &round, sizeof round);
      unsigned found = 0;
      first.read(&found, 5, sizeof found);
      EXPECT_EQ(found, round);
      second.write(5, &round, sizeof round);
      if (round % 3 != 0) free(passing);
    }
    if (round % 3 == 0) free(passing);
  }
};

TEST_F(Cycles, LeaveNothingBehind) {
  const auto num_cycles = static_cast<unsigned>(number_from("ISTHMUS_WINDOW_CYCLES", 300));
  const CUdeviceptr staying = device_memory(4 * kMiB);
  unsigned round = 0;
  for (; round < num_cycles / 10 + 10; ++round) cycle(staying, round);
  const Holdings before = Holdings::now();
  const std::size_t free_before_bytes = free_bytes();
  for (; round < num_cycles + 10; ++round) cycle(staying, round);
  const Holdings after = Holdings::now();
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_LE(after.mappings, before.mappings + 8);
  EXPECT_LE(kSanitized ? 0 : after.memory_kib, before.memory_kib + kKiB);
  EXPECT_EQ(windows().mapped_bytes(0), 0u);
  EXPECT_GE(free_bytes() + 8 * kMiB, free_before_bytes);
}

}  // namespace
}  // namespace isthmus::window

// All that crosses the emulated link takes its modelled time: kernels, windows, several at once.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

// The profile `small`, cpp/emulator/src/machine/profiles.cpp.
constexpr double kLinkBytesPerS = 3e9;
constexpr double kLaunchS = 5e-6;
constexpr double kKernelBytesPerS = 2.8e9;
constexpr double kKernelReadS = 2.4e-6;
constexpr double kKernelWriteS = 1.2e-6;
constexpr double kWriteBytesPerS = 1.2e9;
constexpr double kWriteS = 250e-9;
constexpr double kReadS = 2e-6;
constexpr double kNanosecond = 1e-9;
constexpr double kRounding = 1e-6;  // events are floats, in milliseconds
constexpr std::size_t kKiB = 1024;

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::uint8_t>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void plain_copy(void* target, const void* source, std::size_t size_bytes) {
  std::memcpy(target, source, size_bytes);
}

class Link : public EmulatedMachine {
protected:
  explicit Link(const std::string& profile = "small") : EmulatedMachine(profile) { enter(); }

  /// The modelled seconds of what `work` does.
  template <typename Work>
  double modelled(Work work) {
    const unsigned long long before = controls().modelled_ns();
    work();
    return static_cast<double>(controls().modelled_ns() - before) * kNanosecond;
  }

  void copy_by_kernel(const void* source, void* target, std::size_t size_bytes) {
    launch(kernel("copy", "isthmus_copy"), nullptr, source, target, size_bytes);
    synchronize(nullptr);
  }

  IsthmusEmulatorCopies through_window(int device = 0) {
    return controls().window_copies(device, {plain_copy, plain_copy});
  }

  static std::byte* to_pointer(CUdeviceptr address) {
    return reinterpret_cast<std::byte*>(address);
  }
};

// --- kernels

TEST_F(Link, IsCrossedByAKernelThatReadsPinnedMemory) {
  const CUdeviceptr device = device_memory(kMiB);
  std::byte* const pinned = pinned_memory(kMiB);
  const double seconds = modelled([&] { copy_by_kernel(pinned, to_pointer(device), kMiB); });
  EXPECT_NEAR(seconds, kLaunchS + kKernelReadS + kMiB / kKernelBytesPerS, 10 * kNanosecond);
}

TEST_F(Link, IsCrossedByAKernelThatWritesPinnedMemory) {
  const CUdeviceptr device = device_memory(kMiB);
  std::byte* const pinned = pinned_memory(kMiB);
  const double seconds = modelled([&] { copy_by_kernel(to_pointer(device), pinned, kMiB); });
  EXPECT_NEAR(seconds, kLaunchS + kKernelWriteS + kMiB / kKernelBytesPerS, 10 * kNanosecond);
}

TEST_F(Link, IsNotCrossedByAKernelThatStaysOnItsDevice) {
  const CUdeviceptr from = device_memory(2 * kMiB);
  const CUdeviceptr to = device_memory(2 * kMiB);
  const double seconds =
      modelled([&] { copy_by_kernel(to_pointer(from), to_pointer(to), 2 * kMiB); });
  EXPECT_NEAR(seconds, kLaunchS, 10 * kNanosecond);
}

TEST_F(Link, IsCrossedByRegisteredMemoryToo) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes host(kMiB);
  driver().call(symbol::mem_host_register)(static_cast<void*>(host.data()), host.size(), 0u);
  EXPECT_GT(modelled([&] { copy_by_kernel(host.data(), to_pointer(device), kMiB); }),
            kMiB / kLinkBytesPerS);
  driver().call(symbol::mem_host_unregister)(static_cast<void*>(host.data()));
}

TEST_F(Link, IsCrossedByManagedMemoryUntilItIsPrefetched) {
  CUdeviceptr managed = 0;
  driver().call(symbol::mem_alloc_managed)(&managed, kMiB, unsigned{CU_MEM_ATTACH_GLOBAL});
  const CUdeviceptr device = device_memory(kMiB);
  const auto read = [&] { copy_by_kernel(to_pointer(managed), to_pointer(device), kMiB); };
  EXPECT_GT(modelled(read), kMiB / kLinkBytesPerS);
  const CUmemLocation here{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  driver().call(symbol::mem_prefetch_async)(managed, kMiB, here, 0u, CUstream{nullptr});
  EXPECT_NEAR(modelled(read), kLaunchS, kMiB / kLinkBytesPerS + 20e-6)
      << "the prefetch itself, at most";
  EXPECT_NEAR(modelled(read), kLaunchS, 10 * kNanosecond);
}

TEST_F(Link, MakesAKernelLastAsLongAsItsBytesNeed) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  std::byte* const pinned = pinned_memory(4 * kMiB);
  const CUstream work = stream();
  const CUfunction copy = kernel("copy", "isthmus_copy");
  const CUevent first = record(work);
  launch(copy, work, static_cast<void*>(pinned), to_pointer(device), 4 * kMiB);
  const CUevent last = record(work);
  synchronize(work);
  EXPECT_GE(seconds_between(first, last), 4 * kMiB / kKernelBytesPerS - kRounding);
}

TEST_F(Link, IsCrossedBackAndForthByEachLinkOfAChainInPinnedMemory) {
  constexpr std::size_t kNumLinks = 100;
  auto* const chain = reinterpret_cast<std::uint64_t*>(pinned_memory(kNumLinks * 8));
  for (std::size_t i = 0; i < kNumLinks; ++i)
    chain[i] = reinterpret_cast<std::uint64_t>(chain + (i + 1) % kNumLinks);
  const CUdeviceptr answer = device_memory(16);
  const double seconds = modelled([&] {
    launch(kernel("pointer_chase", "isthmus_pointer_chase"), nullptr, chain, kNumLinks, answer);
    synchronize(nullptr);
  });
  EXPECT_NEAR(seconds, kLaunchS + kNumLinks * (kKernelReadS + 8 / kKernelBytesPerS),
              kNumLinks * kNanosecond);
}

TEST_F(Link, IsCrossedBySmallPiecesTogether) {
  constexpr std::size_t kPieceBytes = 4096;
  constexpr std::size_t kNumPieces = 64;
  const CUdeviceptr device = device_memory(kPieceBytes * kNumPieces);
  std::byte* const pinned = pinned_memory(2 * kPieceBytes * kNumPieces);
  for (const char* const way : {"isthmus_gather", "isthmus_scatter"}) {
    const double seconds = modelled([&] {
      launch(kernel("gather", way), nullptr, pinned, device, kPieceBytes, 2 * kPieceBytes,
             kNumPieces, std::size_t{5});
      synchronize(nullptr);
    });
    EXPECT_NEAR(seconds, kLaunchS + kPieceBytes * kNumPieces / kKernelBytesPerS, kKernelReadS);
  }
}

/// A piece of kernels/pieces.cu.
struct Piece {
  std::uint64_t target, source, size_bytes;
};

TEST_F(Link, IsCrossedByTheManyPiecesOfOneLaunchTogether) {
  constexpr std::size_t kPieceBytes = 4096;
  constexpr std::size_t kNumPieces = 256;
  constexpr double kEntriesS = kNumPieces * sizeof(Piece) / kKernelBytesPerS;
  constexpr double kPiecesS = kPieceBytes * kNumPieces / kKernelBytesPerS;
  const CUdeviceptr device = device_memory(kPieceBytes * kNumPieces);
  const auto host = reinterpret_cast<std::uint64_t>(pinned_memory(kPieceBytes * kNumPieces));
  auto* const pieces = reinterpret_cast<Piece*>(pinned_memory(kNumPieces * sizeof(Piece)));
  for (const bool up : {true, false}) {
    for (std::size_t i = 0; i < kNumPieces; ++i) {
      const std::uint64_t there = device + i * kPieceBytes;
      const std::uint64_t here = host + i * kPieceBytes;
      pieces[i] = {up ? there : here, up ? here : there, kPieceBytes};
    }
    const double seconds = modelled([&] {
      launch(kernel("pieces", "isthmus_pieces"), nullptr, pieces, std::uint64_t{kNumPieces});
      synchronize(nullptr);
    });
    EXPECT_NEAR(
        seconds,
        kLaunchS + kKernelReadS + kEntriesS + (up ? kKernelReadS : kKernelWriteS) + kPiecesS,
        (kNumPieces + 1) * kNanosecond);
  }
}

TEST_F(Link, IsNotCrossedByPiecesWithinTheDevice) {
  const CUdeviceptr device = device_memory(2 * kMiB);
  const CUdeviceptr entries = device_memory(sizeof(Piece));
  const Piece piece{device, device + kMiB, kMiB};
  driver().call(symbol::memcpy_htod)(entries, static_cast<const void*>(&piece), sizeof piece);
  synchronize(nullptr);  // a few bytes are on their way when the call returns
  const double seconds = modelled([&] {
    launch(kernel("pieces", "isthmus_pieces"), nullptr, entries, std::uint64_t{1});
    synchronize(nullptr);
  });
  EXPECT_NEAR(seconds, kLaunchS, 10 * kNanosecond);
}

/// Two layouts of kernels/strided.cu.
struct Layouts {
  std::uint64_t target, source, first, count;
  std::uint64_t shape[9], target_strides[9], source_strides[9];
  std::uint32_t num_dimensions, item_bytes;
};

TEST_F(Link, IsCrossedByTheItemsOfAnArrayWithGapsAlone) {
  constexpr std::uint64_t kNumItems = 64 * kKiB;
  const CUdeviceptr device = device_memory(8 * kNumItems);
  const auto host = reinterpret_cast<std::uint64_t>(pinned_memory(16 * kNumItems));
  const double items_s = 8 * kNumItems / kKernelBytesPerS;
  const Layouts up{device, host, 0, kNumItems, {kNumItems}, {8}, {16}, 1, 8};
  const Layouts down{host, device, 0, kNumItems, {kNumItems}, {16}, {8}, 1, 8};
  const auto seconds_of = [&](const Layouts& layouts) {
    return modelled([&] {
      launch(kernel("strided", "isthmus_strided"), nullptr, layouts);
      synchronize(nullptr);
    });
  };
  EXPECT_NEAR(seconds_of(up), kLaunchS + kKernelReadS + items_s, 10 * kNanosecond);
  EXPECT_NEAR(seconds_of(down), kLaunchS + kKernelWriteS + items_s, 10 * kNanosecond);
}

class LinkOfAPeer : public Link {
protected:
  LinkOfAPeer() : Link("two-gpus") {}
};

TEST_F(LinkOfAPeer, IsCrossedByAKernelThatReadsIt) {
  const CUdeviceptr mine = device_memory(2 * kMiB);
  CUcontext other = nullptr;
  driver().call(symbol::primary_ctx_retain)(&other, 1);
  driver().call(symbol::ctx_push_current)(other);
  const CUdeviceptr theirs = device_memory(2 * kMiB);
  driver().call(symbol::ctx_pop_current)(&other);
  EXPECT_GT(modelled([&] { copy_by_kernel(to_pointer(theirs), to_pointer(mine), 2 * kMiB); }),
            2 * kMiB / kLinkBytesPerS);
  driver().call(symbol::primary_ctx_release)(1);
}

// --- windows

TEST_F(Link, CarriesAWindowsWritesAtTheirModelledPace) {
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes source(kMiB, 7);
  const IsthmusEmulatorCopies copies = through_window();
  for (const std::size_t size_bytes : {std::size_t{4}, 64 * kKiB, kMiB}) {
    const auto start = Clock::now();
    const double seconds =
        modelled([&] { copies.write(to_pointer(device), source.data(), size_bytes); });
    EXPECT_GE(seconds_since(start), seconds - kNanosecond);
    EXPECT_NEAR(seconds, kWriteS + static_cast<double>(size_bytes) / kWriteBytesPerS,
                2 * kNanosecond);
  }
  EXPECT_EQ(std::memcmp(to_pointer(device), source.data(), kMiB), 0);
}

TEST_F(Link, CarriesAWindowsReadsARoundTripForEachKibibyte) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes target(kMiB);
  const IsthmusEmulatorCopies copies = through_window();
  for (const std::size_t size_bytes : {std::size_t{4}, kKiB, 64 * kKiB}) {
    const auto start = Clock::now();
    const double seconds =
        modelled([&] { copies.read(target.data(), to_pointer(device), size_bytes); });
    EXPECT_GE(seconds_since(start), seconds - kNanosecond);
    const double round_trips = std::max(1.0, static_cast<double>(size_bytes) / kKiB);
    EXPECT_NEAR(seconds, round_trips * kReadS, 2 * kNanosecond);
  }
}

TEST_F(Link, CarriesNothingForACopyOfNothing) {
  const CUdeviceptr device = device_memory(kMiB);
  std::byte byte{};
  const IsthmusEmulatorCopies copies = through_window();
  EXPECT_EQ(modelled([&] {
              copies.write(to_pointer(device), &byte, 0);
              copies.read(&byte, to_pointer(device), 0);
            }),
            0);
}

TEST_F(Link, IsSharedByWindowsOfSeveralThreads) {
  constexpr int kNumThreads = 4;
  const CUdeviceptr device = device_memory(kNumThreads * kMiB);
  const Bytes source(kMiB, 7);
  const IsthmusEmulatorCopies copies = through_window();
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (int i = 0; i < kNumThreads; ++i) {
    std::byte* const target = to_pointer(device) + static_cast<std::size_t>(i) * kMiB;
    threads.emplace_back([&, target] { copies.write(target, source.data(), kMiB); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(seconds_since(start), kNumThreads * kMiB / kLinkBytesPerS);
}

TEST_F(Link, IsSharedByACopyEngineAndAKernel) {
  const CUdeviceptr device = device_memory(8 * kMiB);
  std::byte* const pinned = pinned_memory(8 * kMiB);
  const CUfunction copy = kernel("copy", "isthmus_copy");
  const CUstream engine = stream();
  const CUstream multiprocessors = stream();
  const auto start = Clock::now();
  driver().call(symbol::memcpy_htod_async)(device, pinned, 4 * kMiB, engine);
  launch(copy, multiprocessors, pinned + 4 * kMiB, to_pointer(device) + 4 * kMiB, 4 * kMiB);
  synchronize(engine);
  synchronize(multiprocessors);
  EXPECT_GE(seconds_since(start), 8 * kMiB / kLinkBytesPerS);
}

// --- memory

TEST_F(Link, IsNotCrossedByPinningWhichCostsByThePage) {
  constexpr double kPinPageS = 1.4e-6;
  void* host = nullptr;
  const auto start = Clock::now();
  const double pinning =
      modelled([&] { driver().call(symbol::mem_host_alloc)(&host, 4 * kMiB, 0u); });
  EXPECT_GE(seconds_since(start), pinning);
  EXPECT_NEAR(pinning, 1024 * kPinPageS, 0.01 * pinning);
  EXPECT_LT(modelled([&] { driver().call(symbol::mem_free_host)(host); }), pinning / 2);
}

TEST_F(Link, IsNotCrossedByRegisteringWhichCostsMoreForPagesThatDoNotExist) {
  Bytes touched(4 * kMiB, 1);
  const auto cost_of = [&](void* memory) {
    const double seconds =
        modelled([&] { driver().call(symbol::mem_host_register)(memory, 4 * kMiB, 0u); });
    driver().call(symbol::mem_host_unregister)(memory);
    return seconds;
  };
  void* const fresh =
      mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(fresh, MAP_FAILED);
  EXPECT_GT(cost_of(fresh), 4 * cost_of(touched.data()));
  munmap(fresh, 4 * kMiB);
}

TEST_F(Link, IsNotCrossedByAllocationsOnTheDeviceAndSmallOnesAreCheap) {
  CUdeviceptr small = 0;
  CUdeviceptr large = 0;
  const double of_small = modelled([&] { small = device_memory(4); });
  const double of_large = modelled([&] { large = device_memory(64 * kMiB); });
  EXPECT_GT(of_large, 10 * of_small);
  driver().call(symbol::mem_free)(small);
  EXPECT_GT(modelled([&] { driver().call(symbol::mem_free)(large); }), 10 * of_small);
}

}  // namespace
}  // namespace isthmus::emulated

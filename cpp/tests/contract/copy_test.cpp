// Copies transfer every byte, and no others, with either kind of host memory.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <tuple>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

enum class Host { pinned, pageable };
enum class Method { blocking, async };

class RoundTrip : public MachineUnderTest,
                  public testing::WithParamInterface<std::tuple<Host, Method>> {
protected:
  static constexpr std::size_t kMargin = 64;

  std::uint8_t* host_memory(std::size_t size_bytes) {
    if (std::get<Host>(GetParam()) == Host::pinned) return pinned_memory(size_bytes);
    return pageable_.emplace_back(size_bytes).data();
  }

  void upload(CUdeviceptr target, const std::uint8_t* source, std::size_t size_bytes) {
    if (std::get<Method>(GetParam()) == Method::blocking) {
      driver().call(symbol::memcpy_htod)(target, source, size_bytes);
    } else {
      driver().call(symbol::memcpy_htod_async)(target, source, size_bytes, stream_);
    }
  }

  void download(std::uint8_t* target, CUdeviceptr source, std::size_t size_bytes) {
    if (std::get<Method>(GetParam()) == Method::blocking) {
      driver().call(symbol::memcpy_dtoh)(target, source, size_bytes);
    } else {
      driver().call(symbol::memcpy_dtoh_async)(target, source, size_bytes, stream_);
      synchronize(stream_);
    }
  }

  /// Both sides start `offset` bytes into their memory; the bytes around the returned ones stay 0.
  void expect_round_trip(std::size_t size_bytes, std::size_t offset) {
    const std::vector<std::uint8_t> sent = pattern(size_bytes, static_cast<unsigned>(size_bytes));
    std::ranges::copy(sent, source_);
    std::fill_n(target_, size_bytes + offset + kMargin, std::uint8_t{0});
    upload(device_ + offset, source_, size_bytes);
    download(target_ + offset, device_ + offset, size_bytes);
    const std::string which = std::to_string(size_bytes) + " bytes at " + std::to_string(offset);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), target_ + offset)) << which;
    const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
    EXPECT_TRUE(std::all_of(target_, target_ + offset, is_zero)) << which;
    const std::uint8_t* end = target_ + offset + size_bytes;
    EXPECT_TRUE(std::all_of(end, end + kMargin, is_zero)) << which;
  }

  void make_memory(std::size_t size_bytes) {
    source_ = host_memory(size_bytes + 2 * kMargin);
    target_ = host_memory(size_bytes + 2 * kMargin);
    device_ = device_memory(size_bytes + 2 * kMargin);
    stream_ = stream();
  }

private:
  std::vector<std::vector<std::uint8_t>> pageable_;
  std::uint8_t* source_ = nullptr;
  std::uint8_t* target_ = nullptr;
  CUdeviceptr device_ = 0;
  CUstream stream_ = nullptr;
};

TEST_P(RoundTrip, KeepsEveryByteOfSmallSizesAtAnyOffset) {
  make_memory(kKiB);
  for (const std::size_t size_bytes : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1023}) {
    for (const std::size_t offset : {0, 1, 3, 4, 8, 61}) expect_round_trip(size_bytes, offset);
  }
}

TEST_P(RoundTrip, KeepsEveryByteOfSizesAroundAPageAndAStage) {
  make_memory(3 * kMiB);
  for (const std::size_t size_bytes :
       {4095ul, 4096ul, 4097ul, 64 * kKiB - 1, 64 * kKiB, 64 * kKiB + 1, kMiB + 3, 3 * kMiB - 7}) {
    for (const std::size_t offset : {0, 1, 8}) expect_round_trip(size_bytes, offset);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , RoundTrip,
    testing::Combine(testing::Values(Host::pinned, Host::pageable),
                     testing::Values(Method::blocking, Method::async)),
    [](const auto& each) {
      return std::string(std::get<Host>(each.param) == Host::pinned ? "Pinned" : "Pageable") +
             (std::get<Method>(each.param) == Method::blocking ? "Blocking" : "Async");
    });

using Copy = MachineUnderTest;

TEST_F(Copy, OfZeroBytesSucceeds) {
  const CUdeviceptr device = device_memory(16);
  std::uint8_t byte = 7;
  driver().call(symbol::memcpy_htod)(device, &byte, std::size_t{0});
  driver().call(symbol::memcpy_dtoh)(&byte, device, std::size_t{0});
  EXPECT_EQ(byte, 7);
}

TEST_F(Copy, FromPageableMemoryLeavesTheSourceToTheCallerWhenItReturns) {
  const CUstream work = stream();
  for (const std::size_t size_bytes : {4ul, 64 * kKiB, 64 * kKiB + 1, 4 * kMiB + 5}) {
    const CUdeviceptr device = device_memory(size_bytes);
    const std::vector<std::uint8_t> sent = pattern(size_bytes, 1);
    std::vector<std::uint8_t> source = sent;
    driver().call(symbol::memcpy_htod_async)(device, source.data(), size_bytes, work);
    std::ranges::fill(source, std::uint8_t{0});
    synchronize(work);
    std::vector<std::uint8_t> found(size_bytes);
    driver().call(symbol::memcpy_dtoh)(found.data(), device, size_bytes);
    EXPECT_TRUE(found == sent) << size_bytes << " bytes";
  }
}

TEST_F(Copy, ToPageableMemoryIsCompleteWhenTheAsyncCallReturns) {
  const CUstream work = stream();
  for (const std::size_t size_bytes : {4ul, 64 * kKiB, 64 * kKiB + 1, 4 * kMiB + 5}) {
    const CUdeviceptr device = device_memory(size_bytes);
    const std::vector<std::uint8_t> sent = pattern(size_bytes, 2);
    driver().call(symbol::memcpy_htod)(device, sent.data(), size_bytes);
    synchronize(
        nullptr);  // may return before its last bytes have arrived, and `work` doesn't wait for it
    std::vector<std::uint8_t> found(size_bytes);
    driver().call(symbol::memcpy_dtoh_async)(found.data(), device, size_bytes, work);
    EXPECT_TRUE(found == sent) << size_bytes << " bytes";
  }
}

TEST_F(Copy, FromRegisteredMemoryWaitsForItsStreamAndNotForTheCaller) {
  std::vector<std::uint8_t> source = pattern(kMiB, 3);
  driver().call(symbol::mem_host_register)(source.data(), source.size(), 0u);
  const CUdeviceptr device = device_memory(source.size());
  const CUstream work = stream();
  {
    Gate held = gate();
    held.hold(work);
    driver().call(symbol::memcpy_htod_async)(device, source.data(), source.size(), work);
    EXPECT_EQ(query(work), CUDA_ERROR_NOT_READY);
  }
  synchronize(work);
  std::vector<std::uint8_t> found(source.size());
  driver().call(symbol::memcpy_dtoh)(found.data(), device, found.size());
  EXPECT_TRUE(found == source);
  driver().call(symbol::mem_host_unregister)(source.data());
}

TEST_F(Copy, ThroughAPinnedBuffersDevicePointerReachesTheBuffer) {
  auto* buffer = pinned_memory<std::uint32_t>(1);
  const std::uint32_t sent = 0xabad1dea;
  driver().call(symbol::memcpy_htod)(device_pointer(buffer), &sent, sizeof sent);
  driver().call(symbol::ctx_synchronize)();
  EXPECT_EQ(*buffer, sent);
}

/// Seen on an H200 with driver 580: whatever this thread calls next waits, too, and so the gate is never opened.
constexpr auto kHangs =
    "behind a blocking upload that waits, a real driver holds up other threads' calls";

/// What `isthmus watch` and `exec` stand on: they wait where the driver does.
class CopyOfPageableMemory : public MachineUnderTest {
protected:
  enum class Way { up, blocking_up, per_thread_up, down };

  /// Whether a copy returns while its stream is held, before so many others could have been made.
  /// An upload has then read its source.
  bool returns_while_held(Way way, std::size_t size_bytes, int most_meanwhile) {
    const CUdeviceptr device = device_memory(size_bytes);
    const Bytes sent = pattern(size_bytes, 4);
    Bytes host = sent;
    if (way == Way::down) driver().call(symbol::memcpy_htod)(device, sent.data(), size_bytes);
    driver().call(symbol::ctx_synchronize)();
    std::atomic<bool> returned{false};
    Gate held = gate();
    held.hold(held_for(way));
    std::thread copying([&] {
      driver().call(symbol::ctx_push_current)(context());
      if (way == Way::down) {
        driver().call(symbol::memcpy_dtoh_async)(host.data(), device, size_bytes, work_);
      } else if (way == Way::up) {
        driver().call(symbol::memcpy_htod_async)(device, host.data(), size_bytes, work_);
      } else if (way == Way::blocking_up) {
        driver().call(symbol::memcpy_htod)(device, host.data(), size_bytes);
      } else {
        EXPECT_EQ(per_thread_upload_(device, host.data(), size_bytes), CUDA_SUCCESS);
      }
      if (way != Way::down) std::ranges::fill(host, std::uint8_t{0});
      returned = true;
    });
    for (int i = 0; i < most_meanwhile && !returned; ++i) copy_elsewhere();
    const bool was_early = returned;
    held.open();
    copying.join();
    synchronize(work_);
    if (way != Way::down) driver().call(symbol::memcpy_dtoh)(host.data(), device, size_bytes);
    EXPECT_TRUE(host == sent) << size_bytes << " bytes";
    return was_early;
  }

  bool has_per_thread_upload() const { return per_thread_upload_ != nullptr; }

private:
  /// Whose work comes before the copy.
  CUstream held_for(Way way) const {
    if (way == Way::blocking_up) return ordered_;
    return way == Way::per_thread_up ? CU_STREAM_LEGACY : work_;
  }

  /// Of pinned memory: behind a pageable download that waits, the driver holds up those of other
  /// streams, too, and behind many uploads that are held, those of more than 64 KiB.
  void copy_elsewhere() {
    driver().call(symbol::memcpy_dtoh_async)(pinned_, few_, kKiB, other_);
    synchronize(other_);
  }

  void SetUp() override {
    MachineUnderTest::SetUp();
    if (IsSkipped()) return;
    work_ = stream();
    ordered_ = stream(CU_STREAM_DEFAULT);
    void* const library = dlopen(driver().path().c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr)
      per_thread_upload_ =
          reinterpret_cast<decltype(per_thread_upload_)>(dlsym(library, "cuMemcpyHtoD_v2_ptds"));
    other_ = stream();
    few_ = device_memory(kKiB);
    pinned_ = pinned_memory(kKiB);
  }

  CUstream work_ = nullptr;
  CUstream ordered_ = nullptr;  ///< blocking copies come after its work
  CUresult (*per_thread_upload_)(CUdeviceptr, const void*, std::size_t) = nullptr;
  CUstream other_ = nullptr;
  CUdeviceptr few_ = 0;
  std::uint8_t* pinned_ = nullptr;
};

TEST_F(CopyOfPageableMemory, ToTheDeviceDoesNotWaitForAHeldStreamUpTo2MiB) {
  constexpr int most_meanwhile = 100'000;
  for (const std::size_t size_bytes : {kKiB, 64 * kKiB, 64 * kKiB + 1, 256 * kKiB, 2 * kMiB})
    EXPECT_TRUE(returns_while_held(Way::up, size_bytes, most_meanwhile)) << size_bytes << " bytes";
}

TEST_F(CopyOfPageableMemory, ToTheDeviceWaitsForAHeldStreamWhenItIsLarge) {
  constexpr int most_meanwhile = 300;
  for (const std::size_t size_bytes : {2 * kMiB + 1, 16 * kMiB})
    EXPECT_FALSE(returns_while_held(Way::up, size_bytes, most_meanwhile)) << size_bytes << " bytes";
}

TEST_F(CopyOfPageableMemory, ToTheDeviceInABlockingCallWaitsForAHeldStreamAtEverySize) {
  if (!driver().emulated()) GTEST_SKIP() << kHangs;
  constexpr int most_meanwhile = 300;
  for (const std::size_t size_bytes : {4ul, kKiB, 64 * kKiB, 64 * kKiB + 1, 2 * kMiB, 16 * kMiB})
    EXPECT_FALSE(returns_while_held(Way::blocking_up, size_bytes, most_meanwhile))
        << size_bytes << " bytes";
}

TEST_F(CopyOfPageableMemory, ToTheDeviceInTheThreadsOwnStreamWaitsForTheHeldLegacyStream) {
  if (!driver().emulated()) GTEST_SKIP() << kHangs;
  ASSERT_TRUE(has_per_thread_upload());
  constexpr int most_meanwhile = 300;
  for (const std::size_t size_bytes : {4ul, kKiB, 64 * kKiB, 64 * kKiB + 1, 2 * kMiB, 16 * kMiB})
    EXPECT_FALSE(returns_while_held(Way::per_thread_up, size_bytes, most_meanwhile))
        << size_bytes << " bytes";
}

TEST_F(CopyOfPageableMemory, ToTheHostWaitsForAHeldStreamAtEverySize) {
  constexpr int most_meanwhile = 300;
  for (const std::size_t size_bytes : {kKiB, 64 * kKiB + 1, 16 * kMiB})
    EXPECT_FALSE(returns_while_held(Way::down, size_bytes, most_meanwhile))
        << size_bytes << " bytes";
}

TEST_F(Copy, OfMemoryThatIsPinnedInPartIsRefused) {
  std::vector<std::uint8_t> host(kMiB);
  driver().call(symbol::mem_host_register)(host.data(), host.size() / 2, 0u);
  const CUdeviceptr device = device_memory(kMiB);
  EXPECT_EQ(driver().raw(symbol::memcpy_htod)(device, host.data(), host.size()),
            CUDA_ERROR_INVALID_VALUE);
  driver().call(symbol::mem_host_unregister)(host.data());
}

TEST_F(Copy, BeyondTheEndOfAnAllocationIsRefused) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  std::vector<std::uint8_t> host(64 * kMiB);
  EXPECT_EQ(driver().raw(symbol::memcpy_htod)(device, host.data(), host.size()),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace isthmus::contract

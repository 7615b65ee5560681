// Bandwidths between all kinds of memory, by copy engine and kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};
constexpr std::size_t kSizeBytes = std::size_t{1} << 20U;
constexpr Direction kBothWays[] = {Direction::host_to_device, Direction::device_to_host};

BandwidthOptions options_of(Direction direction, std::size_t size_bytes,
                            Engine by = Engine::copy_engine) {
  BandwidthOptions options{direction, size_bytes, true, kQuick};
  options.by = by;
  return options;
}

BufferKinds kinds_of(HostMemory host, DeviceMemory device = DeviceMemory::allocated) {
  BufferKinds kinds;
  kinds.host = host;
  kinds.device = device;
  return kinds;
}

class EveryKind : public testing::TestWithParam<HostMemory> {};

TEST_P(EveryKind, OfPinnedMemoryIsMeasuredAndVerifiedBothWaysByBothEngines) {
  try {
    CopyBuffers buffers(test::context(), kSizeBytes, kinds_of(GetParam()));
    for (const Direction direction : kBothWays) {
      for (const std::size_t size_bytes : {std::size_t{1}, std::size_t{4099}, kSizeBytes}) {
        for (const Engine by : {Engine::copy_engine, Engine::multiprocessors}) {
          const Measurement found =
              measure_bandwidth(buffers, &test::kernels(), options_of(direction, size_bytes, by));
          EXPECT_GT(found.samples.at(0).seconds.at(0), 0);
        }
      }
    }
  } catch (const Unavailable& absence) {
    // Only a kernel without huge pages may refuse, and must say why.
    ASSERT_EQ(GetParam(), HostMemory::huge_pinned);
    EXPECT_NE(std::string(absence.what()).find("transparent huge pages"), std::string::npos);
  }
}

TEST_P(EveryKind, HasRoomForWhatWasAskedAndItsPagesAreThere) {
  try {
    const HostBuffer buffer(test::context(), GetParam(), 12345, std::nullopt);
    std::memset(buffer.data(), 7, 12345);
    std::byte last{};
    buffer.read(&last, 12344, 1);
    EXPECT_EQ(last, std::byte{7});
    EXPECT_NE(buffer.device_pointer(test::context()), 0U);
  } catch (const Unavailable&) {
    ASSERT_EQ(GetParam(), HostMemory::huge_pinned);
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, EveryKind,
                         testing::Values(HostMemory::pinned, HostMemory::registered,
                                         HostMemory::write_combined, HostMemory::huge_pinned),
                         [](const auto& test) {
                           std::string name = name_of(test.param);
                           std::ranges::replace(name, '-', '_');
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST(HostBuffer, OfPageableMemoryHasNoAddressOnTheDevice) {
  const HostBuffer buffer(test::context(), HostMemory::pageable, 4096, std::nullopt);
  EXPECT_THROW(buffer.device_pointer(test::context()), UsageError);
}

TEST(HostBuffer, GivesEverythingBackWhenItGoes) {
  if (!test::driver().emulated()) GTEST_SKIP() << "counts what an emulated driver has";
  const test::EmulatorControls controls(test::driver());
  const Context context = test::context();
  const IsthmusEmulatorLive before = controls.live();
  {
    const CopyBuffers registered(context, 4096, kinds_of(HostMemory::registered));
    const CopyBuffers pooled(context, 4096,
                             kinds_of(HostMemory::write_combined, DeviceMemory::pool));
    EXPECT_FALSE(controls.live() == before);
  }
  EXPECT_EQ(controls.live(), before);
}

TEST(PoolMemory, IsCopiedToAndFromLikeAnyOther) {
  CopyBuffers buffers(test::context(), kSizeBytes,
                      kinds_of(HostMemory::pinned, DeviceMemory::pool));
  for (const Direction direction : kBothWays) {
    const Measurement found =
        measure_bandwidth(buffers, &test::kernels(), options_of(direction, kSizeBytes));
    EXPECT_GT(found.samples.at(0).seconds.at(0), 0);
  }
}

TEST(Offsets, OfEitherSideAreKeptAndVerified) {
  for (const std::size_t host_offset : {0, 1, 64}) {
    for (const std::size_t device_offset : {0, 1, 8}) {
      BufferKinds kinds;
      kinds.host_offset_bytes = host_offset;
      kinds.device_offset_bytes = device_offset;
      CopyBuffers buffers(test::context(), 65537, kinds);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffers.host()) % 512, host_offset);
      EXPECT_EQ(buffers.device() % 256, device_offset);
      for (const Direction direction : kBothWays) {
        const Measurement found =
            measure_bandwidth(buffers, &test::kernels(), options_of(direction, 65537));
        EXPECT_EQ(found.verified_on == VerifiedOn::device,
                  direction == Direction::host_to_device && device_offset % 8 == 0);
        measure_bandwidth(buffers, &test::kernels(),
                          options_of(direction, 65537, Engine::multiprocessors));
      }
    }
  }
}

TEST(Zeros, AreCopiedAndAPoisonedTargetIsCorrupt) {
  BufferKinds kinds;
  kinds.contents = Contents::zeros;
  CopyBuffers buffers(test::context(), 4099, kinds);
  for (const Direction direction : kBothWays) {
    measure_bandwidth(buffers, &test::kernels(), options_of(direction, 4099));
    EXPECT_EQ(std::count(buffers.host(), buffers.host() + 4099, std::byte{0}), 4099);
    buffers.poison(direction, 4099);
    EXPECT_THROW(buffers.verify(direction, 4099, &test::kernels()), CorruptTransfer);
  }
}

TEST(CopiesByKernel, AreRefusedWithoutKernelsForPageableMemoryAndWithoutAGate) {
  CopyBuffers pinned(test::context(), HostMemory::pinned, 4096, std::nullopt);
  BandwidthOptions options = options_of(Direction::host_to_device, 4096, Engine::multiprocessors);
  EXPECT_THROW(measure_bandwidth(pinned, nullptr, options), Unavailable);
  CopyBuffers pageable(test::context(), HostMemory::pageable, 4096, std::nullopt);
  EXPECT_THROW(measure_bandwidth(pageable, &test::kernels(), options), UsageError);
  options.blocked = false;
  EXPECT_THROW(measure_bandwidth(pinned, &test::kernels(), options), UsageError);
}

/// Makes a function of the emulated driver do nothing while this lives.
class Swallowed {
public:
  explicit Swallowed(const char* symbol) : controls_(test::driver()) {
    controls_.swallow_calls(symbol);
  }
  ~Swallowed() { controls_.reset(); }
  Swallowed(const Swallowed&) = delete;
  Swallowed& operator=(const Swallowed&) = delete;

private:
  test::EmulatorControls controls_;
};

struct Fault {
  const char* name;
  const char* symbol;
  Direction direction;
  Engine by;
};

class ACopyThatDidNotHappen : public testing::TestWithParam<Fault> {};

TEST_P(ACopyThatDidNotHappen, IsCorruptAndYieldsNoSample) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  CopyBuffers buffers(test::context(), kSizeBytes, BufferKinds{});
  measure_bandwidth(buffers, &test::kernels(),
                    options_of(GetParam().direction, 4096, GetParam().by));
  const Swallowed fault(GetParam().symbol);
  EXPECT_THROW(measure_bandwidth(buffers, &test::kernels(),
                                 options_of(GetParam().direction, kSizeBytes, GetParam().by)),
               CorruptTransfer);
}

INSTANTIATE_TEST_SUITE_P(
    By, ACopyThatDidNotHappen,
    testing::Values(
        Fault{"engine_h2d", "cuMemcpyHtoDAsync", Direction::host_to_device, Engine::copy_engine},
        Fault{"engine_d2h", "cuMemcpyDtoHAsync", Direction::device_to_host, Engine::copy_engine},
        Fault{"kernel_h2d", "cuLaunchKernel", Direction::host_to_device, Engine::multiprocessors},
        Fault{"kernel_d2h", "cuLaunchKernel", Direction::device_to_host, Engine::multiprocessors}),
    [](const auto& test) { return test.param.name; });

TEST(ACopyTheWrongWay, LeavesTheTargetPoisoned) {
  CopyBuffers buffers(test::context(), 4096, BufferKinds{});
  buffers.prepare(&test::kernels());
  buffers.poison(Direction::host_to_device, 4096);
  const CurrentContext current(buffers.context());
  Copy(buffers, Direction::device_to_host, 4096).blocking();
  EXPECT_THROW(buffers.verify(Direction::host_to_device, 4096, &test::kernels()), CorruptTransfer);
}

}  // namespace
}  // namespace isthmus::measure

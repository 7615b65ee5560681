// Windows::costs(): which calls belong to which step, and which mappings count.
#include <cerrno>
#include <chrono>
#include <cmath>

#include "backend_machine.hpp"
#include "fakes/fake_gdrdrv.hpp"
#include "fakes/fake_resource_manager.hpp"
#include "window/registry.hpp"
#include "window/windows_under_test.hpp"

namespace isthmus::window {
namespace {

using fakes::FakeGdrdrv;
using fakes::FakeKernel;
using fakes::FakeResourceManager;

long nanoseconds(const WindowStep& step) { return std::lround(step.seconds * 1e9); }

void expect_counts(const WindowCosts& costs, std::uint64_t num_made, std::uint64_t num_undone) {
  EXPECT_EQ(costs.pin.count, num_made);
  EXPECT_EQ(costs.map.count, num_made);
  EXPECT_EQ(costs.unmap.count, num_undone);
  EXPECT_EQ(costs.unpin.count, num_undone);
}

/// On fakes of the kernel, whose clock advances only in calls that a test slows down.
class Costs : public BackendMachine {
protected:
  Windows windows(const std::shared_ptr<FakeKernel>& kernel, const std::string& backend) const {
    return Registry::windows(driver(), {.backend = backend}, fakes::files_of(kernel));
  }
};

// Each call takes a different power of ten, so that a step's time shows which calls it contains.
// The self-test makes the same calls first, and calls outside all steps take time too.

TEST_F(Costs, OfGdrdrvArePinBufferMmapMunmapAndUnpinBuffer) {
  const auto kernel = std::make_shared<FakeGdrdrv>(driver());
  kernel->slow_down("PIN_BUFFER", 1);
  kernel->slow_down("mmap", 10);
  kernel->slow_down("GET_INFO_V2", 100);
  kernel->slow_down("munmap", 1000);
  kernel->slow_down("UNPIN_BUFFER", 10'000);
  Windows all = windows(kernel, "gdrdrv");
  Window window = all.open(buffer(kMiB), kMiB);
  const WindowCosts opened = all.costs();
  expect_counts(opened, 1, 0);
  EXPECT_EQ(nanoseconds(opened.pin), 1);
  EXPECT_EQ(nanoseconds(opened.map), 10);
  window.close();
  const WindowCosts closed = all.costs();
  expect_counts(closed, 1, 1);
  EXPECT_EQ(nanoseconds(closed.pin), 1);
  EXPECT_EQ(nanoseconds(closed.map), 10);
  EXPECT_EQ(nanoseconds(closed.unmap), 1000);
  EXPECT_EQ(nanoseconds(closed.unpin), 10'000);
}

class CostsOfTheResourceManager : public Costs {
protected:
  CostsOfTheResourceManager() {
    kernel_->slow_down("DUP_OBJECT", 1);
    kernel_->slow_down("CONTROL IMPORT_OBJECTS", 2);
    kernel_->slow_down("open " + kernel_->file_of(0), 10);
    kernel_->slow_down("REGISTER_FD", 100);
    kernel_->slow_down("MAP_MEMORY", 1000);
    kernel_->slow_down("mmap", 10'000);
    kernel_->slow_down("UNMAP_MEMORY", 100'000);
    kernel_->slow_down("close", 1'000'000);
    kernel_->slow_down("FREE", 10'000'000);
    kernel_->slow_down("CARD_INFO", 100'000'000);
    kernel_->slow_down("ALLOC root", 100'000'000);
    kernel_->slow_down("ALLOC device", 100'000'000);
  }

  void expect_steps_of_one_life(std::uintptr_t pointer, long pin_ns) {
    Windows all = windows(kernel_, "rm");
    all.open(pointer, kMiB).close();
    const WindowCosts costs = all.costs();
    expect_counts(costs, 1, 1);
    EXPECT_EQ(nanoseconds(costs.pin), pin_ns);
    EXPECT_EQ(nanoseconds(costs.map), 11'110);
    EXPECT_EQ(nanoseconds(costs.unmap), 1'100'000);
    EXPECT_EQ(nanoseconds(costs.unpin), 10'000'000);
  }

  std::shared_ptr<FakeResourceManager> kernel_ = std::make_shared<FakeResourceManager>(driver());
};

TEST_F(CostsOfTheResourceManager, ArePinByDuplicationMapUnmapAndFree) {
  expect_steps_of_one_life(buffer(kMiB), 1);
}

TEST_F(CostsOfTheResourceManager, ArePinByImportOfMemoryOfCuMemCreate) {
  expect_steps_of_one_life(created(2 * kMiB), 2);
}

TEST_F(CostsOfTheResourceManager, AreSummedOverLives) {
  Windows all = windows(kernel_, "rm");
  const std::uintptr_t pointer = buffer(kMiB);
  for (int life = 0; life < 3; ++life) all.open(pointer, kMiB).close();
  const WindowCosts costs = all.costs();
  expect_counts(costs, 3, 3);
  EXPECT_EQ(nanoseconds(costs.map), 3 * 11'110);
  EXPECT_EQ(nanoseconds(costs.unpin), 3 * 10'000'000);
}

TEST_F(Costs, GrowByTheFirstAndTheLastOfTheWindowsThatShareAMapping) {
  const auto kernel = std::make_shared<FakeGdrdrv>(driver());
  Windows all = windows(kernel, "gdrdrv");
  const std::uintptr_t pointer = buffer(2 * kMiB);
  Window first = all.open(pointer, 2 * kMiB);
  Window second = all.open(pointer, kMiB);
  expect_counts(all.costs(), 1, 0);
  first.close();
  expect_counts(all.costs(), 1, 0);
  second.close();
  expect_counts(all.costs(), 1, 1);
}

TEST_F(Costs, AreCountedPieceByPieceWhereMappingsOfCuMemMapAdjoin) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  Windows all = windows(kernel, "rm");
  Window window = all.open(created(2 * kMiB, true, 3), 6 * kMiB);
  expect_counts(all.costs(), 3, 0);
  window.close();
  expect_counts(all.costs(), 3, 3);
}

TEST_F(Costs, AreSeenByEachCopyOfAWindows) {
  const auto kernel = std::make_shared<FakeGdrdrv>(driver());
  Windows all = windows(kernel, "gdrdrv");
  const Windows copy = all;
  all.open(buffer(kMiB), kMiB).close();
  expect_counts(copy.costs(), 1, 1);
}

TEST_F(Costs, LeaveOutRefusedMappings) {
  const auto kernel = std::make_shared<FakeGdrdrv>(driver());
  Windows all = windows(kernel, "gdrdrv");
  const std::uintptr_t pointer = buffer(kMiB);
  all.open(pointer, kMiB).close();
  for (const char* call : {"PIN_BUFFER", "mmap", "GET_INFO_V2"}) {
    kernel->refuse({.call = call, .error = EIO});
    EXPECT_NE(refusal_of([&] { all.open(pointer, kMiB); }), "") << call;
    expect_counts(all.costs(), 1, 1);
  }
}

TEST_F(Costs, LeaveOutMappingsThatShowOtherBytes) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  Windows all = windows(kernel, "rm");
  const std::uintptr_t pointer = buffer(kMiB);
  all.open(pointer, kMiB).close();
  driver().call(symbol::memset_d8_async)(CUdeviceptr{pointer}, static_cast<unsigned char>(0x5a),
                                         kMiB, CUstream{nullptr});
  driver().call(symbol::ctx_synchronize)();
  kernel->show_wrong_memory();
  EXPECT_TRUE(says(refusal_of([&] { all.open(pointer, kMiB); }), "other bytes"));
  expect_counts(all.costs(), 1, 1);
}

/// On any driver.
class CostsUnderTest : public WindowsUnderTest {};

TEST_F(CostsUnderTest, AreNothingBeforeTheFirstWindow) {
  windows().backends(0);
  expect_counts(windows().costs(), 0, 0);
  EXPECT_EQ(windows().costs().pin.seconds, 0);
}

TEST_F(CostsUnderTest, AreAPartOfWhatOpeningAndClosingTake) {
  using Clock = std::chrono::steady_clock;
  const CUdeviceptr pointer = device_memory(kMiB);
  const auto begin = Clock::now();
  Window window = windows().open(pointer, kMiB);
  const auto opened = Clock::now();
  const bool unpins = window.backend() != WindowBackend::dmabuf;
  window.close();
  const auto closed = Clock::now();
  const WindowCosts costs = windows().costs();
  expect_counts({costs.pin, costs.map, costs.unmap, costs.unmap}, 1, 1);
  EXPECT_EQ(costs.unpin.count, unpins ? 1U : 0U);
  for (const WindowStep& step : {costs.pin, costs.map, costs.unmap}) EXPECT_GT(step.seconds, 0);
  EXPECT_EQ(costs.unpin.seconds > 0, unpins);
  using Seconds = std::chrono::duration<double>;
  EXPECT_LE(costs.pin.seconds + costs.map.seconds, Seconds(opened - begin).count());
  EXPECT_LE(costs.unmap.seconds + costs.unpin.seconds, Seconds(closed - opened).count());
}

TEST_F(CostsUnderTest, AreCountedWhenThreadsOpenAndCloseAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kLives = 50;
  std::vector<CUdeviceptr> buffers;
  for (int thread = 0; thread < kThreads; ++thread) buffers.push_back(device_memory(64 * kKiB));
  std::vector<std::thread> threads;
  for (const CUdeviceptr pointer : buffers)
    threads.emplace_back([&, pointer] {
      for (int life = 0; life < kLives; ++life) windows().open(pointer, 64 * kKiB).close();
    });
  for (std::thread& thread : threads) thread.join();
  const WindowCosts costs = windows().costs();
  EXPECT_EQ(costs.pin.count, std::uint64_t{kThreads * kLives});
  EXPECT_EQ(costs.unmap.count, std::uint64_t{kThreads * kLives});
}

}  // namespace
}  // namespace isthmus::window

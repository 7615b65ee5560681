// A window belongs to the process that opened it: a child of fork() has none, and doesn't affect
// the parent's.
#include <fcntl.h>
#include <sys/mman.h>

#include <isthmus/window.hpp>

#include "backend_machine.hpp"
#include "driver/child_process.hpp"
#include "fakes/fake_gdrdrv.hpp"
#include "fakes/fake_resource_manager.hpp"
#include "sizes.hpp"
#include "window/registry.hpp"

namespace isthmus::window {
namespace {

using contract::kMiB;

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

bool throws_usage_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError&) {
    return true;
  }
  return false;
}

TEST(ForkedWindows, AreRefusedInTheChildWithoutWaitingForALock) {
  const Driver driver = Driver::open("emulated:small");
  Windows windows(driver, WindowSettings{});
  EXPECT_TRUE(holds_in_child([&] {
    return throws_usage_error([&] { (void)windows.mapped_bytes(0); }) &&
           throws_usage_error([&] { (void)windows.bar1_limit_bytes(0); }) &&
           throws_usage_error([&] { (void)windows.take_notices(); }) &&
           throws_usage_error([&] { (void)windows.costs(); });
  }));
}

enum class Way { dmabuf, gdrdrv, rm };

std::string text_of(Way way) {
  return way == Way::dmabuf ? "dmabuf" : way == Way::gdrdrv ? "gdrdrv" : "rm";
}

class ForkedWindow : public BackendMachine, public testing::WithParamInterface<Way> {
protected:
  ForkedWindow() {
    if (GetParam() == Way::gdrdrv) kernel_ = std::make_shared<fakes::FakeGdrdrv>(driver());
    if (GetParam() == Way::rm) kernel_ = std::make_shared<fakes::FakeResourceManager>(driver());
  }

  Windows windows() const {
    return Registry::windows(driver(), {.backend = text_of(GetParam())},
                             kernel_ == nullptr ? nullptr : fakes::files_of(kernel_));
  }

  std::shared_ptr<fakes::FakeKernel> kernel_;
};

TEST_P(ForkedWindow, ThrowsInTheChildAndWorksOnInTheParent) {
  const std::uintptr_t pointer = buffer(kMiB);
  Windows all = windows();
  Window window = all.open(pointer, kMiB);
  EXPECT_TRUE(holds_in_child([&] {
    std::uint32_t value = 7;
    return throws_usage_error([&] { window.write(0, &value, sizeof value); }) &&
           throws_usage_error([&] { window.post(0, &value, sizeof value); }) &&
           throws_usage_error([&] { window.read(&value, 0, sizeof value); }) &&
           throws_usage_error([&] { all.open(pointer, kMiB); }) &&
           throws_usage_error([&] { all.backends(0); });
  }));
  expect_same_memory(window.data(), pointer, kMiB);
}

TEST_P(ForkedWindow, IsNotMappedInTheChild) {
  const std::uintptr_t pointer = buffer(kMiB);
  Windows all = windows();
  const Window window = all.open(pointer, kMiB);
  unsigned char resident = 0;
  EXPECT_EQ(mincore(window.mapped_data(), 4096, &resident), 0);
  EXPECT_TRUE(holds_in_child(
      [&] { return mincore(window.mapped_data(), 4096, &resident) != 0 && errno == ENOMEM; }));
}

/// With a backend that keeps files open. A dma-buf is closed as soon as it is mapped.
class ForkedWindowOnDeviceFiles : public ForkedWindow {};

TEST_P(ForkedWindowOnDeviceFiles, LeavesItsDescriptorsToTheParent) {
  const std::uintptr_t pointer = buffer(kMiB);
  Windows all = windows();
  Window window = all.open(pointer, kMiB);
  const std::vector<int> descriptors = kernel_->open_descriptors();
  ASSERT_FALSE(descriptors.empty());
  EXPECT_TRUE(holds_in_child(
      [&] { return std::none_of(descriptors.begin(), descriptors.end(), is_open); }));
  EXPECT_TRUE(std::all_of(descriptors.begin(), descriptors.end(), is_open));
}

TEST_P(ForkedWindow, CanBeClosedInTheChildWithoutHarmToTheParent) {
  const std::uintptr_t pointer = buffer(kMiB);
  auto all = std::make_unique<Windows>(windows());
  Window window = all->open(pointer, kMiB);
  EXPECT_TRUE(holds_in_child([&] {
    // The child's own mapping, where the parent has its window.
    void* const mine = mmap(window.mapped_data(), 4096, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    window.close();
    all.reset();
    *static_cast<volatile char*>(mine) = 1;
    return true;
  }));
  expect_same_memory(window.data(), pointer, kMiB);
  window.close();
  all.reset();
  if (kernel_ != nullptr) {
    EXPECT_EQ(kernel_->num_open_files(), 0u);
    EXPECT_EQ(kernel_->complaints(), std::vector<std::string>{});
  }
}

std::string name_of_test(const testing::TestParamInfo<Way>& way) { return text_of(way.param); }

INSTANTIATE_TEST_SUITE_P(ByEachBackend, ForkedWindow,
                         testing::Values(Way::dmabuf, Way::gdrdrv, Way::rm), name_of_test);
INSTANTIATE_TEST_SUITE_P(ByEachBackend, ForkedWindowOnDeviceFiles,
                         testing::Values(Way::gdrdrv, Way::rm), name_of_test);

}  // namespace
}  // namespace isthmus::window

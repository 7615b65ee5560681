// Which backend windows use; a backend that maps the wrong memory isn't used.
#include <cerrno>
#include <map>

#include <isthmus/window.hpp>

#include "../emulator/emulated_machine.hpp"
#include "backend_machine.hpp"
#include "fakes/fake_gdrdrv.hpp"
#include "fakes/fake_resource_manager.hpp"
#include "sizes.hpp"
#include "window/registry.hpp"

namespace isthmus::window {
namespace {

using fakes::FakeGdrdrv;
using fakes::FakeResourceManager;
using Strings = std::vector<std::string>;

using contract::kMiB;

class BackendChoice : public BackendMachine {
protected:
  Windows windows(std::shared_ptr<fakes::FakeKernel> kernel, const std::string& backend) const {
    return Registry::windows(driver(), {.backend = backend}, fakes::files_of(std::move(kernel)));
  }

  /// The same driver, but unable to export memory as a dma-buf.
  Driver driver_without_dmabuf() const {
    const emulated::Controls controls(driver());
    controls.hide_symbol("cuMemGetHandleForAddressRange");
    Driver other = Driver::open("emulated:small");
    controls.reset();
    return other;
  }
};

/// The kernels that can map wrong memory, by the name of the backend that uses them.
class MappingOfWrongMemory : public BackendChoice, public testing::WithParamInterface<std::string> {
protected:
  std::shared_ptr<fakes::FakeKernel> kernel() const {
    if (GetParam() == "rm") return std::make_shared<FakeResourceManager>(driver());
    return std::make_shared<FakeGdrdrv>(driver());
  }
};

TEST_P(MappingOfWrongMemory, IsFoundBeforeAWindowIsHandedOut) {
  const auto kernel = this->kernel();
  kernel->show_wrong_memory();
  const std::uintptr_t pointer = buffer(kMiB);
  {
    Windows all = windows(kernel, GetParam());
    const std::string reason = refusal_of([&] { all.open(pointer, kMiB); });
    EXPECT_TRUE(says(reason, "self-test failed")) << reason;
    EXPECT_EQ(kernel->num_mappings(), 0u);
  }
  EXPECT_EQ(kernel->num_open_files(), 0u);
  EXPECT_EQ(kernel->complaints(), Strings{});
}

TEST_P(MappingOfWrongMemory, IsFoundThoughTheBackendPassedItsTest) {
  const auto kernel = this->kernel();
  const std::uintptr_t good = buffer(kMiB);
  const std::uintptr_t other = buffer(2 * kMiB);
  driver().call(symbol::memset_d8_async)(CUdeviceptr{other}, static_cast<unsigned char>(0x5a),
                                         2 * kMiB, CUstream{nullptr});
  driver().call(symbol::ctx_synchronize)();
  {
    Windows all = windows(kernel, GetParam());
    const Window window = all.open(good, kMiB);
    kernel->show_wrong_memory();
    const std::string reason = refusal_of([&] { all.open(other, 2 * kMiB); });
    EXPECT_TRUE(says(reason, "other bytes than the buffer has")) << reason;
    EXPECT_EQ(kernel->num_mappings(), 1u);
    expect_same_memory(window.data(), good, kMiB);
  }
  EXPECT_EQ(kernel->num_mappings(), 0u);
  EXPECT_EQ(kernel->num_open_files(), 0u);
  EXPECT_EQ(kernel->complaints(), Strings{});
}

class AdjacentMappings : public MappingOfWrongMemory {};

TEST_P(AdjacentMappings, BecomeOneWindow) {
  const auto kernel = this->kernel();
  const std::uintptr_t pointer = created(2 * kMiB, true, 3);
  {
    Windows all = windows(kernel, GetParam());
    const Window window = all.open(pointer + kMiB, 4 * kMiB);
    expect_same_memory(window.data(), pointer + kMiB, 4 * kMiB);
  }
  EXPECT_EQ(kernel->num_mappings(), 0u);
  EXPECT_EQ(kernel->num_open_files(), 0u);
  EXPECT_EQ(kernel->complaints(), Strings{});
}

TEST_P(AdjacentMappings, BecomeOneWindowThatBeginsAnywhere) {
  const auto kernel = this->kernel();
  const std::uintptr_t pointer = created(2 * kMiB, true, 2) + 3 * kHostPageBytes + 17;
  Windows all = windows(kernel, GetParam());
  const Window window = all.open(pointer, 3 * kMiB);
  expect_same_memory(window.data(), pointer, 3 * kMiB);
}

INSTANTIATE_TEST_SUITE_P(ByEachBackend, AdjacentMappings, testing::Values("gdrdrv", "rm"),
                         [](const auto& backend) { return backend.param; });
INSTANTIATE_TEST_SUITE_P(ByEachBackend, MappingOfWrongMemory, testing::Values("gdrdrv", "rm"),
                         [](const auto& backend) { return backend.param; });

TEST_F(BackendChoice, TakesGdrdrvWhereThereIsNoDmabuf) {
  const auto kernel = std::make_shared<FakeGdrdrv>(driver());
  Windows all = Registry::windows(driver_without_dmabuf(), {}, fakes::files_of(kernel));
  const std::uintptr_t pointer = buffer(kMiB);
  const Window window = all.open(pointer, kMiB);
  EXPECT_EQ(window.backend(), WindowBackend::gdrdrv);
  expect_same_memory(window.data(), pointer, kMiB);
}

TEST_F(BackendChoice, TakesTheResourceManagerIfNoOtherBackendWorks) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  Windows all = Registry::windows(driver_without_dmabuf(), {}, fakes::files_of(kernel));
  const std::uintptr_t pointer = buffer(kMiB);
  const Window window = all.open(pointer, kMiB);
  EXPECT_EQ(window.backend(), WindowBackend::rm);
  expect_same_memory(window.data(), pointer, kMiB);
}

TEST_F(BackendChoice, GivesEachBackendsReasonIfNoneWorks) {
  const auto kernel = std::make_shared<FakeGdrdrv>(driver());
  kernel->refuse({.call = "open /dev/gdrdrv", .error = EACCES});
  Windows all = Registry::windows(driver_without_dmabuf(), {}, fakes::files_of(kernel));
  const std::uintptr_t pointer = buffer(kMiB);
  const std::string reason = refusal_of([&] { all.open(pointer, kMiB); });
  EXPECT_TRUE(says(reason, "cuMemGetHandleForAddressRange")) << reason;
  EXPECT_TRUE(says(reason, "open of /dev/gdrdrv: Permission denied")) << reason;
  EXPECT_TRUE(says(reason, "open /dev/nvidiactl: No such file")) << reason;
}

TEST_F(BackendChoice, MakesOneMappingOfWindowsOnTheSamePages) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  const std::uintptr_t pointer = buffer(2 * kMiB);
  Windows all = windows(kernel, "rm");
  Window whole = all.open(pointer, 2 * kMiB);
  const Window part = all.open(pointer + kMiB, 100);
  EXPECT_EQ(kernel->num_mappings(), 1u);
  EXPECT_EQ(part.data(), whole.data() + kMiB);
  whole.close();
  EXPECT_EQ(kernel->num_mappings(), 1u);
}

TEST_F(BackendChoice, TellsOnceThatADriverIsNewerThanAnyTested) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  kernel->settings.version = "999.10.02";
  const std::uintptr_t pointer = buffer(2 * kMiB);
  Windows all = windows(kernel, "rm");
  const Window first = all.open(pointer, kMiB);
  const Window second = all.open(pointer + kMiB, kMiB);
  const Strings notices = all.take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_TRUE(says(notices[0], "999.10.02")) << notices[0];
  EXPECT_EQ(all.take_notices(), Strings{});
}

TEST_F(BackendChoice, ReportsAllBackendsOfADevice) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  Windows all = windows(kernel, "");
  const std::vector<WindowBackendReport> reports = all.backends(0);
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_TRUE(reports[0].usable) << reports[0].reason;
  EXPECT_FALSE(reports[1].usable);
  EXPECT_EQ(reports[1].reason, "no /dev/gdrdrv: the kernel module is not loaded");
  EXPECT_TRUE(reports[2].usable) << reports[2].reason;
}

TEST_F(BackendChoice, TellsByWhatEachKindOfMemoryIsFound) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  std::map<std::string, std::string> reasons;
  for (const WindowMemoryReport& report : windows(kernel, "rm").memory_kinds(0)) {
    EXPECT_EQ(report.usable, report.memory != "cudaMallocAsync") << report.reason;
    reasons[report.memory] = report.reason;
  }
  EXPECT_EQ(reasons["cudaMalloc"], "found by its IPC handle (cuIpcGetMemHandle)");
  EXPECT_EQ(reasons["exportable cuMemCreate"],
            "found by its descriptor (cuMemExportToShareableHandle)");
  EXPECT_EQ(reasons["cuMemCreate without an exportable handle"],
            "found by the driver's record of it (cuMemRetainAllocationHandle)");
  EXPECT_TRUE(says(reasons["cudaMallocAsync"], "memory of cudaMallocAsync"));
  EXPECT_EQ(kernel->num_open_files(), 0u);
  EXPECT_EQ(kernel->complaints(), Strings{});
}

TEST_F(BackendChoice, TellsWhyAKindOfMemoryHasNoWindow) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  kernel->refuse({.call = "process_vm_readv", .error = EPERM});
  const auto reports = windows(kernel, "rm").memory_kinds(0);
  ASSERT_EQ(reports.size(), 4u);
  EXPECT_FALSE(reports[2].usable);
  EXPECT_TRUE(says(reports[2].reason, "may not read its own memory")) << reports[2].reason;
}

TEST_F(BackendChoice, TriesNoMemoryWhereThereAreNoWindows) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  EXPECT_TRUE(says(refusal_of([&] { windows(kernel, "off").memory_kinds(0); }), "turned off"));
}

// Every call that windows make to the resource manager fails once: a window opens or says why not,
// and nothing leaks.
TEST_F(BackendChoice, LeavesNothingBehindWhicheverCallOfOpeningFails) {
  const auto kernel = std::make_shared<FakeResourceManager>(driver());
  const std::uintptr_t pointer = buffer(2 * kMiB);
  const auto live = [&] { windows(kernel, "rm").open(pointer, 2 * kMiB); };
  live();
  const int num_calls = num_refusable_calls(*kernel);
  for (int nth = 1; nth <= num_calls; ++nth) {
    kernel->start_over();
    kernel->refuse({"", EIO, 0, nth});
    const std::string reason = refusal_of(live);
    const std::string last = kernel->last_refused();
    EXPECT_EQ(reason.empty(), last == "FREE" || last == "UNMAP_MEMORY") << last << ": " << reason;
    EXPECT_EQ(kernel->num_open_files(), 0u) << last;
    EXPECT_EQ(kernel->num_mappings(), 0u) << last;
    EXPECT_EQ(kernel->num_objects(), 0u) << last;
  }
}

}  // namespace
}  // namespace isthmus::window

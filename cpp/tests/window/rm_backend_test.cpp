// Windows through our own client of the resource manager, on a fake of it.
#include <cerrno>

#include "resource_manager_machine.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window {
namespace {

using Strings = std::vector<std::string>;

using contract::kMiB;

TEST_F(ResourceManager, MapsABufferSoThatBytesGoBothWays) {
  const std::uintptr_t pointer = buffer(3 * kMiB);
  {
    const auto backend = open();
    EXPECT_EQ(backend->kind(), WindowBackend::rm);
    const auto mapping = map(*backend, pointer, 3 * kMiB);
    EXPECT_EQ(mapping->size_bytes(), 3 * kMiB);
    EXPECT_FALSE(mapping->shared());
    expect_same_memory(mapping->data(), pointer, 3 * kMiB);
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManager, MapsSmallBuffersAtOddOffsetsAndSaysThatTheirPagesAreShared) {
  buffer(512 * 3);
  const std::uintptr_t small = buffer(700);
  buffer(60 << 10);
  const std::uintptr_t later = buffer(5000);
  {
    const auto backend = open();
    for (const std::uintptr_t pointer : {small, later}) {
      const std::size_t size_bytes = pointer == small ? 700 : 5000;
      const DevicePages pages = pages_around(pointer, size_bytes);
      const auto mapping = map(*backend, pointer, size_bytes);
      EXPECT_TRUE(mapping->shared());
      EXPECT_EQ(mapping->size_bytes(), pages.size_bytes);
      expect_same_memory(mapping->data() + (pointer - pages.begin), pointer, size_bytes);
    }
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManager, MapsOnlyThePagesAskedFor) {
  const std::uintptr_t pointer = buffer(4 * kMiB);
  {
    const auto backend = open();
    const auto mapping = map(*backend, pointer + kMiB + 100, 1);
    EXPECT_EQ(mapping->size_bytes(), kHostPageBytes);
    expect_same_memory(mapping->data(), pointer + kMiB, kHostPageBytes);
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManager, MapsMemoryOfCuMemCreateByItsDescriptor) {
  const std::uintptr_t pointer = created(4 * kMiB);
  {
    const auto backend = open();
    const auto whole = map(*backend, pointer, 4 * kMiB);
    expect_same_memory(whole->data(), pointer, 4 * kMiB);
    const auto part = map(*backend, pointer + kMiB, kMiB);
    expect_same_memory(part->data(), pointer + kMiB, kMiB);
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManager, SaysThatExportableMemoryCouldNotBeExported) {
  const std::uintptr_t pointer = created(2 * kMiB);
  const emulated::Controls controls(driver());
  controls.fail_call("cuMemExportToShareableHandle", 1, CUDA_ERROR_NOT_SUPPORTED);
  const auto backend = open();
  const std::string reason = refusal_of([&] { map(*backend, pointer, kMiB); });
  EXPECT_TRUE(says(reason, "cuMemExportToShareableHandle: CUDA_ERROR_NOT_SUPPORTED")) << reason;
  expect_no_memory_left();
}

TEST_F(ResourceManager, MapsAtAPlaceTheCallerReserved) {
  const std::uintptr_t pointer = buffer(4 * kMiB);
  void* const reserved = reserve_host_pages(kMiB);
  {
    const auto backend = open();
    const auto mapping =
        backend->map(context(), allocation_at(pointer), {pointer + kMiB, kMiB}, reserved);
    EXPECT_EQ(mapping->data(), reserved);
    expect_same_memory(mapping->data(), pointer + kMiB, kMiB);
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManager, MakesOneClientForAllMappings) {
  const std::uintptr_t pointer = buffer(2 * kMiB);
  const auto backend = open();
  auto first = map(*backend, pointer, kMiB);
  const auto second = map(*backend, pointer, 2 * kMiB);
  EXPECT_EQ(kernel_->num_clients(), 1u);
  EXPECT_EQ(kernel_->num_calls("ALLOC device"), 1);
  first.reset();
  EXPECT_EQ(kernel_->num_memory_objects(), 1u);
  expect_same_memory(second->data(), pointer, 2 * kMiB);
}

TEST_F(ResourceManager, KeepsItsClientUntilTheLastMappingIsGone) {
  const std::uintptr_t pointer = buffer(kMiB);
  auto backend = open();
  auto mapping = map(*backend, pointer, kMiB);
  backend.reset();
  EXPECT_EQ(kernel_->num_clients(), 1u);
  expect_same_memory(mapping->data(), pointer, kMiB);
  mapping.reset();
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManager, KeepsMemoryThatIsFreedWhileItIsMapped) {
  const std::uintptr_t pointer = buffer(2 * kMiB);
  {
    const auto backend = open();
    const auto mapping = map(*backend, pointer, 2 * kMiB);
    mapping->data()[5] = std::byte{42};
    free(pointer);
    EXPECT_EQ(mapping->data()[5], std::byte{42});
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

class ResourceManagerOfTwoGpus : public ResourceManager {
protected:
  ResourceManagerOfTwoGpus() : ResourceManager("two-gpus", 1) {}
};

TEST_F(ResourceManagerOfTwoGpus, MapsEachGpusMemoryThroughItsOwnFile) {
  const std::uintptr_t second = buffer(2 * kMiB);
  {
    const auto backend = open();
    const auto of_second = map(*backend, second, 2 * kMiB);
    EXPECT_EQ(kernel_->num_calls("open " + kernel_->file_of(1)), 1);
    EXPECT_EQ(kernel_->num_calls("open " + kernel_->file_of(0)), 0);
    expect_same_memory(of_second->data(), second, 2 * kMiB);
    const Context first_context = Context::retain(driver(), 0);
    const CurrentContext current(first_context);
    const std::uintptr_t first = buffer(2 * kMiB);
    const auto of_first =
        backend->map(first_context, allocation_at(first), pages_around(first, 2 * kMiB), nullptr);
    EXPECT_EQ(kernel_->num_calls("open " + kernel_->file_of(0)), 1);
    expect_same_memory(of_first->data(), first, 2 * kMiB);
  }
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

TEST_F(ResourceManagerOfTwoGpus, MemoryIsFoundThoughAnotherGpuIsCurrent) {
  const std::uintptr_t second = buffer(2 * kMiB);
  const Context first_context = Context::retain(driver(), 0);
  const CurrentContext current(first_context);
  const Allocation found = allocation_at(second + kMiB);
  EXPECT_EQ(found.base, second);
  EXPECT_EQ(found.size_bytes, 2 * kMiB);
  EXPECT_EQ(found.device, 1);
}

TEST_F(ResourceManager, RefusesAGpuThatItDoesNotList) {
  kernel_->settings.lists_gpus = false;
  const std::uintptr_t pointer = buffer(kMiB);
  const std::string reason = refusal_of([&] { live(pointer); });
  EXPECT_TRUE(says(reason, "no GPU at " + context().device().pci_address)) << reason;
  expect_nothing_left();
}

TEST_F(ResourceManager, NamesTheDriverItWasTestedWithAndHasNothingToAdd) {
  const auto backend = open();
  EXPECT_TRUE(says(backend->description(), "580.159.04")) << backend->description();
  EXPECT_EQ(backend->notice(), "");
}

TEST_F(ResourceManager, UsesANewerDriverAndSaysSo) {
  kernel_->settings.version = "999.10.02";
  const std::uintptr_t pointer = buffer(kMiB);
  const auto backend = open();
  EXPECT_TRUE(says(backend->notice(), "999.10.02")) << backend->notice();
  expect_same_memory(map(*backend, pointer, kMiB)->data(), pointer, kMiB);
}

TEST_F(ResourceManager, ShowsAVersionThatIsNoText) {
  kernel_->settings.version = "580\xff\x1b[2J";
  EXPECT_EQ(refusal_of([&] { open(); }),
            "driver 580\xef\xbf\xbd?[2J is not a version this code knows");
  expect_nothing_left();
}

TEST_F(ResourceManager, RefusesAnOlderDriverUnlessTheUserChoseTheBackend) {
  for (const char* const version : {"470.57.02", "580.65.06", "not a version"}) {
    kernel_->settings.version = version;
    const std::string reason = refusal_of([&] { open(); });
    EXPECT_TRUE(says(reason, version)) << reason;
    expect_nothing_left();
    const auto backend = open(true);
    EXPECT_TRUE(says(backend->notice(), version)) << backend->notice();
  }
  expect_nothing_left();
}

TEST_F(ResourceManager, SaysHowMuchOfBar1IsFreeWhenItIsUsedUp) {
  kernel_->settings.bar1_mib = 3;
  const std::uintptr_t pointer = buffer(8 * kMiB);
  const auto backend = open();
  const auto first = map(*backend, pointer, 2 * kMiB);
  const std::string reason = refusal_of([&] { map(*backend, pointer + 4 * kMiB, 2 * kMiB); });
  EXPECT_TRUE(says(reason, "insufficient resources")) << reason;
  EXPECT_TRUE(says(reason, "1 of 3 MiB of BAR1 are free")) << reason;
  EXPECT_EQ(kernel_->num_memory_objects(), 1u);
  expect_same_memory(first->data(), pointer, 2 * kMiB);
}

TEST_F(ResourceManager, CanBeAskedAgainAfterARefusal) {
  const std::uintptr_t pointer = buffer(kMiB);
  const auto backend = open();
  for (const char* const call : {"ALLOC device", "ALLOC subdevice", "DUP_OBJECT", "MAP_MEMORY"}) {
    kernel_->refuse({.call = call, .status = fakes::kInsufficientResources});
    EXPECT_NE(refusal_of([&] { map(*backend, pointer, kMiB); }), "") << call;
    expect_no_memory_left();
  }
  expect_same_memory(map(*backend, pointer, kMiB)->data(), pointer, kMiB);
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

struct RefusedCall {
  fakes::Refusal refusal;
  const char* named;    ///< what the reason must name
  const char* because;  ///< and say
};

std::ostream& operator<<(std::ostream& out, const RefusedCall& refused) {
  return out << refused.refusal.call << " " << refused.because;
}

class ResourceManagerRefuses : public ResourceManager,
                               public testing::WithParamInterface<RefusedCall> {};

TEST_P(ResourceManagerRefuses, WithTheNameOfTheCallAndWhy) {
  const std::uintptr_t pointer = buffer(kMiB);
  kernel_->refuse(GetParam().refusal);
  const std::string reason = refusal_of([&] { live(pointer); });
  EXPECT_TRUE(says(reason, GetParam().named)) << reason;
  EXPECT_TRUE(says(reason, GetParam().because)) << reason;
  expect_nothing_left();
  EXPECT_EQ(kernel_->complaints(), Strings{});
}

constexpr const char* kNotPermitted = "Operation not permitted";
constexpr const char* kSandbox = "sandbox";
constexpr const char* kNoPermission = "insufficient permissions";

INSTANTIATE_TEST_SUITE_P(
    BySystemCalls, ResourceManagerRefuses,
    testing::Values(
        RefusedCall{{.call = "open /dev/nvidiactl", .error = EACCES},
                    "open /dev/nvidiactl",
                    "Permission denied"},
        RefusedCall{{.call = "open /dev/nvidiactl", .error = ENOENT},
                    "open /dev/nvidiactl",
                    "No such file"},
        RefusedCall{{.call = "open /dev/nvidia7", .error = EACCES},
                    "open /dev/nvidia7",
                    "Permission denied"},
        RefusedCall{{.call = "CHECK_VERSION", .error = EINVAL}, "version", "Invalid argument"},
        RefusedCall{{.call = "CARD_INFO", .error = EINVAL}, "list the GPUs", "Invalid argument"},
        RefusedCall{{.call = "ALLOC root", .error = EPERM}, "client", kNotPermitted},
        RefusedCall{{.call = "REGISTER_FD", .error = EPERM}, "register /dev/nvidia7", kSandbox},
        RefusedCall{{.call = "DUP_OBJECT", .error = EPERM}, "duplicate", kSandbox},
        RefusedCall{{.call = "MAP_MEMORY", .error = ENOSYS}, "map the memory", kSandbox},
        RefusedCall{{.call = "MAP_MEMORY", .error = EINVAL}, "map the memory", "Invalid argument"},
        RefusedCall{{.call = "mmap", .error = ENOMEM}, "mmap /dev/nvidia7", "Cannot allocate"}));

INSTANTIATE_TEST_SUITE_P(
    ByStatus, ResourceManagerRefuses,
    testing::Values(RefusedCall{{.call = "ALLOC root", .status = fakes::kInsufficientPermissions},
                                "client",
                                kNoPermission},
                    RefusedCall{{.call = "ALLOC device", .status = fakes::kInsufficientPermissions},
                                "device",
                                kNoPermission},
                    RefusedCall{{.call = "ALLOC subdevice", .status = fakes::kInvalidClass},
                                "subdevice",
                                "0x22"},
                    RefusedCall{{.call = "CONTROL GPU_GET_ID_INFO", .status = fakes::kNotSupported},
                                "GPU",
                                "not supported"},
                    RefusedCall{{.call = "DUP_OBJECT", .status = fakes::kInsufficientPermissions},
                                "duplicate",
                                kNoPermission},
                    RefusedCall{{.call = "MAP_MEMORY", .status = fakes::kNotSupported},
                                "map the memory",
                                "not supported"}));

TEST_F(ResourceManager, SaysThatItCouldNotImportExportedMemory) {
  const std::uintptr_t pointer = created(2 * kMiB);
  kernel_->refuse({.call = "CONTROL IMPORT_OBJECTS", .status = fakes::kInsufficientPermissions});
  const std::string reason = refusal_of([&] { live(pointer); });
  EXPECT_TRUE(says(reason, "import")) << reason;
  EXPECT_TRUE(says(reason, kNoPermission)) << reason;
  expect_nothing_left();
}

// Each call from opening to closing fails once, by the kernel or by the resource manager; in any
// case nothing must leak.
class ResourceManagerSweep : public ResourceManager, public testing::WithParamInterface<bool> {
protected:
  void sweep(std::uintptr_t pointer, bool by_status) {
    live(pointer);
    const int num_calls = num_refusable_calls(*kernel_);
    ASSERT_GE(num_calls, 12);
    const std::size_t num_descriptors = num_open_descriptors();
    for (int nth = 1; nth <= num_calls; ++nth) {
      kernel_->start_over();
      kernel_->refuse(by_status ? fakes::Refusal{"", 0, fakes::kNotSupported, nth}
                                : fakes::Refusal{"", EIO, 0, nth});
      const std::string reason = refusal_of([&] { live(pointer); });
      const std::string last = kernel_->last_refused();
      EXPECT_NE(last, "");
      const bool undoes = last == "FREE" || last == "UNMAP_MEMORY";
      EXPECT_TRUE(by_status || reason.empty() == undoes) << last << ": " << reason;
      expect_nothing_left();
      EXPECT_EQ(num_open_descriptors(), num_descriptors) << last;
    }
  }
};

TEST_P(ResourceManagerSweep, LeavesNothingOfABufferBehindWhicheverCallFails) {
  sweep(buffer(kMiB), GetParam());
}

TEST_P(ResourceManagerSweep, LeavesNothingOfCreatedMemoryBehindWhicheverCallFails) {
  sweep(created(2 * kMiB), GetParam());
}

INSTANTIATE_TEST_SUITE_P(ByErrorAndStatus, ResourceManagerSweep, testing::Bool(),
                         [](const auto& by_status) {
                           return by_status.param ? "Status" : "Error";
                         });

}  // namespace
}  // namespace isthmus::window

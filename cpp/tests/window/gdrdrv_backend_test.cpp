// Windows through GDRCopy's kernel module, on a fake of it.
#include <cerrno>

#include "backend_machine.hpp"
#include "fakes/fake_gdrdrv.hpp"
#include "sizes.hpp"
#include "window/backends/device_files.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window {
namespace {

using fakes::FakeGdrdrv;
using gdrdrv::MappingType;
using gdrdrv::version_of;

constexpr std::size_t kGpuPageBytes = gdrdrv::kGpuPageBytes;
using contract::kMiB;

class Gdrdrv : public BackendMachine {
protected:
  explicit Gdrdrv(const std::string& profile = "small", int ordinal = 0)
      : BackendMachine(profile, ordinal) {}

  std::unique_ptr<Backend> open() const {
    return open_gdrdrv_backend(driver(), fakes::files_of(kernel_));
  }

  void expect_nothing_left() const {
    EXPECT_EQ(kernel_->num_open_files(), 0u);
    EXPECT_EQ(kernel_->num_mappings(), 0u);
    EXPECT_EQ(kernel_->num_pins(), 0u);
    EXPECT_EQ(kernel_->complaints(), std::vector<std::string>{});
  }

  std::shared_ptr<FakeGdrdrv> kernel_ = std::make_shared<FakeGdrdrv>(driver());
};

TEST_F(Gdrdrv, MapsABufferSoThatBytesGoBothWays) {
  const std::uintptr_t pointer = buffer(3 * kMiB);
  {
    const auto backend = open();
    const auto mapping = map(*backend, pointer, 3 * kMiB);
    EXPECT_EQ(mapping->size_bytes(), 3 * kMiB);
    EXPECT_FALSE(mapping->shared());
    expect_same_memory(mapping->data(), pointer, 3 * kMiB);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, MapsSmallBuffersAtOddOffsetsAndSaysThatTheirPagesAreShared) {
  buffer(512 * 3);
  const std::uintptr_t small = buffer(700);
  buffer(60 << 10);
  const std::uintptr_t later = buffer(5000);
  {
    const auto backend = open();
    for (const auto& [pointer, size_bytes] :
         {std::pair{small, std::size_t{700}}, std::pair{later, std::size_t{5000}}}) {
      const DevicePages pages = pages_around(pointer, size_bytes);
      const auto mapping = map(*backend, pointer, size_bytes);
      EXPECT_TRUE(mapping->shared());
      EXPECT_EQ(mapping->size_bytes(), pages.size_bytes);
      expect_same_memory(mapping->data() + (pointer - pages.begin), pointer, size_bytes);
    }
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, PinsWholeGpuPagesButShowsOnlyThePagesAskedFor) {
  const std::uintptr_t pointer = buffer(4 * kMiB);
  const std::uintptr_t inside = pointer + kGpuPageBytes + 3 * kHostPageBytes;
  {
    const auto backend = open();
    const auto mapping =
        backend->map(context(), allocation_at(pointer), {inside, kGpuPageBytes}, nullptr);
    EXPECT_EQ(kernel_->pinned_bytes(), 2 * kGpuPageBytes);
    EXPECT_EQ(mapping->size_bytes(), kGpuPageBytes);
    expect_same_memory(mapping->data(), inside, kGpuPageBytes);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, MapsAtAPlaceTheCallerReserved) {
  const std::uintptr_t pointer = buffer(4 * kMiB);
  void* const reserved = reserve_host_pages(2 * kGpuPageBytes);
  {
    const auto backend = open();
    const auto mapping = backend->map(context(), allocation_at(pointer),
                                      {pointer + kGpuPageBytes, 2 * kGpuPageBytes}, reserved);
    EXPECT_EQ(mapping->data(), reserved);
    expect_same_memory(mapping->data(), pointer + kGpuPageBytes, 2 * kGpuPageBytes);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, RefusesAPlaceForPagesThatBeginInsideAGpuPage) {
  const std::uintptr_t pointer = buffer(4 * kMiB);
  void* const reserved = reserve_host_pages(kHostPageBytes);
  const MappedHostPages owned(reserved, kHostPageBytes);
  const auto backend = open();
  const DevicePages inside{pointer + kHostPageBytes, kHostPageBytes};
  const std::string reason =
      refusal_of([&] { backend->map(context(), allocation_at(pointer), inside, reserved); });
  EXPECT_TRUE(says(reason, "64 KiB")) << reason;
  EXPECT_EQ(kernel_->num_pins(), 0u);
}

TEST_F(Gdrdrv, MapsMemoryOfCuMemCreate) {
  const std::uintptr_t pointer = created(2 * kMiB, false);
  {
    const auto backend = open();
    const auto mapping = map(*backend, pointer, 2 * kMiB);
    expect_same_memory(mapping->data(), pointer, 2 * kMiB);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, MapsOneBufferTwiceAndClosesInAnyOrder) {
  const std::uintptr_t pointer = buffer(2 * kMiB);
  {
    const auto backend = open();
    auto first = map(*backend, pointer, kMiB);
    const auto second = map(*backend, pointer, 2 * kMiB);
    first.reset();
    expect_same_memory(second->data(), pointer, 2 * kMiB);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, KeepsItsFileOpenUntilTheLastMappingIsGone) {
  const std::uintptr_t pointer = buffer(kMiB);
  auto backend = open();
  auto mapping = map(*backend, pointer, kMiB);
  backend.reset();
  EXPECT_EQ(kernel_->num_open_files(), 1u);
  expect_same_memory(mapping->data(), pointer, kMiB);
  mapping.reset();
  expect_nothing_left();
}

class GdrdrvOnTwoGpus : public Gdrdrv {
protected:
  GdrdrvOnTwoGpus() : Gdrdrv("two-gpus", 1) {}
};

TEST_F(GdrdrvOnTwoGpus, MapsTheMemoryOfEither) {
  const std::uintptr_t second = buffer(2 * kMiB);
  {
    const auto backend = open();
    const auto of_second = map(*backend, second, 2 * kMiB);
    expect_same_memory(of_second->data(), second, 2 * kMiB);
    const Context first_context = Context::retain(driver(), 0);
    const CurrentContext current(first_context);
    const std::uintptr_t first = buffer(2 * kMiB);
    const auto of_first =
        backend->map(first_context, allocation_at(first), pages_around(first, 2 * kMiB), nullptr);
    expect_same_memory(of_first->data(), first, 2 * kMiB);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, SaysThatTheModuleIsNotLoaded) {
  kernel_->settings.loaded = false;
  EXPECT_EQ(refusal_of([&] { open(); }), "no /dev/gdrdrv: the kernel module is not loaded");
}

TEST_F(Gdrdrv, OpensTheRealFileOrSaysWhyNot) {
  const std::string reason =
      refusal_of([&] { open_gdrdrv_backend(driver(), system_device_files()); });
  EXPECT_TRUE(reason.empty() || says(reason, "/dev/gdrdrv")) << reason;
}

TEST_F(Gdrdrv, SaysThatItMayNotOpenTheFile) {
  kernel_->refuse({.call = "open /dev/gdrdrv", .error = EACCES});
  EXPECT_EQ(refusal_of([&] { open(); }), "open of /dev/gdrdrv: Permission denied");
}

TEST_F(Gdrdrv, RefusesAModuleOlderThanTwo) {
  kernel_->settings.version = version_of(1, 4);
  const std::string reason = refusal_of([&] { open(); });
  EXPECT_TRUE(says(reason, "version 1.4")) << reason;
  expect_nothing_left();
}

TEST_F(Gdrdrv, RefusesAModuleThatAsksForANewerInterface) {
  kernel_->settings.version = version_of(3, 0);
  kernel_->settings.oldest_interface = version_of(3, 0);
  const std::string reason = refusal_of([&] { open(); });
  EXPECT_TRUE(says(reason, "interface 3.0")) << reason;
  expect_nothing_left();
}

TEST_F(Gdrdrv, UsesAModuleNewerThanItKnowsAndSaysSo) {
  kernel_->settings.version = version_of(2, 9);
  const std::uintptr_t pointer = buffer(kMiB);
  const auto backend = open();
  EXPECT_TRUE(says(backend->notice(), "gdrdrv 2.9")) << backend->notice();
  expect_same_memory(map(*backend, pointer, kMiB)->data(), pointer, kMiB);
}

TEST_F(Gdrdrv, HasNothingToSayAboutVersionsItKnows) {
  for (const std::uint32_t minor : {0u, 3u, 4u, 6u}) {
    kernel_->settings.version = version_of(2, minor);
    EXPECT_EQ(open()->notice(), "") << minor;
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, WorksWithAModuleThatCannotTellTheTypeOfAMapping) {
  kernel_->settings.version = version_of(2, 0);
  const std::uintptr_t pointer = buffer(kMiB);
  {
    const auto backend = open();
    const auto mapping = map(*backend, pointer, kMiB);
    expect_same_memory(mapping->data(), pointer, kMiB);
    EXPECT_EQ(backend->description(), "gdrdrv 2.0, write-combined");
    EXPECT_EQ(kernel_->num_calls("GET_INFO_V2"), 0);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, DescribesWhatItMaps) {
  kernel_->settings.persistent = true;
  const std::uintptr_t pointer = buffer(kMiB);
  const auto backend = open();
  EXPECT_EQ(backend->kind(), WindowBackend::gdrdrv);
  EXPECT_EQ(backend->description(), "gdrdrv 2.5, persistent mappings");
  const std::vector<std::pair<MappingType, std::string>> types{
      {MappingType::write_combined, "write-combined"},
      {MappingType::cached, "cached"},
      {MappingType::device, "device memory"}};
  for (const auto& [type, name] : types) {
    kernel_->settings.mapping_type = type;
    map(*backend, pointer, kMiB);
    EXPECT_EQ(backend->description(), "gdrdrv 2.5, persistent mappings, " + name);
  }
}

TEST_F(Gdrdrv, RefusesPagesThatWereTakenBackAtOnce) {
  kernel_->settings.mapping_type = MappingType::none;
  const std::uintptr_t pointer = buffer(kMiB);
  {
    const auto backend = open();
    const std::string reason = refusal_of([&] { map(*backend, pointer, kMiB); });
    EXPECT_TRUE(says(reason, "took the pages back")) << reason;
    EXPECT_EQ(kernel_->num_pins(), 0u);
    EXPECT_EQ(kernel_->num_mappings(), 0u);
  }
  expect_nothing_left();
}

TEST_F(Gdrdrv, ClosesAMappingWhosePagesCudaTookBack) {
  const std::uintptr_t pointer = buffer(kMiB);
  {
    const auto backend = open();
    const auto mapping = map(*backend, pointer, kMiB);
    free(pointer);
    kernel_->take_back_all();
  }
  expect_nothing_left();
}

struct RefusedCall {
  const char* call;
  int error;
  const char* reason;
};

class GdrdrvRefuses : public Gdrdrv, public testing::WithParamInterface<RefusedCall> {};

TEST_P(GdrdrvRefuses, WithTheNameOfTheCallAndWhy) {
  const std::uintptr_t pointer = buffer(kMiB);
  kernel_->refuse({.call = GetParam().call, .error = GetParam().error});
  const std::string reason = refusal_of([&] {
    const auto backend = open();
    map(*backend, pointer, kMiB);
  });
  EXPECT_EQ(reason, GetParam().reason);
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(
    EachCall, GdrdrvRefuses,
    testing::Values(
        RefusedCall{"open /dev/gdrdrv", EPERM, "open of /dev/gdrdrv: Operation not permitted"},
        RefusedCall{"open /dev/gdrdrv", ENXIO, "no /dev/gdrdrv: the kernel module is not loaded"},
        RefusedCall{"GET_VERSION", ENOTTY, "GET_VERSION of gdrdrv: Inappropriate ioctl for device"},
        RefusedCall{"PIN_BUFFER", EINVAL, "PIN_BUFFER of gdrdrv: Invalid argument"},
        RefusedCall{"PIN_BUFFER", EPERM, "PIN_BUFFER of gdrdrv: Operation not permitted"},
        RefusedCall{"mmap", ENOMEM, "mmap of /dev/gdrdrv: Cannot allocate memory"},
        RefusedCall{"GET_INFO_V2", EINVAL, "GET_INFO_V2 of gdrdrv: Invalid argument"}));

TEST_F(Gdrdrv, DoesWithoutKnowingWhetherMappingsPersist) {
  kernel_->refuse({.call = "GET_ATTR", .error = EINVAL});
  EXPECT_EQ(open()->description(), "gdrdrv 2.5");
  expect_nothing_left();
}

// Each call from opening to closing fails once; in any case nothing must leak.
TEST_F(Gdrdrv, LeavesNothingBehindWhicheverCallFails) {
  const std::uintptr_t pointer = buffer(kMiB);
  const auto live = [&] {
    const auto backend = open();
    map(*backend, pointer, kMiB);
  };
  live();
  const int num_calls = num_refusable_calls(*kernel_);
  ASSERT_GE(num_calls, 6);
  for (int nth = 1; nth <= num_calls; ++nth) {
    kernel_->start_over();
    kernel_->refuse({.call = "", .error = EIO, .nth = nth});
    const std::string reason = refusal_of(live);
    const std::string last = kernel_->last_refused();
    const bool may_fail = last == "UNPIN_BUFFER" || last == "GET_ATTR";
    EXPECT_EQ(reason.empty(), may_fail) << last << ": " << reason;
    EXPECT_EQ(kernel_->num_open_files(), 0u) << last;
    EXPECT_EQ(kernel_->num_mappings(), 0u) << last;
    EXPECT_EQ(kernel_->num_pins(), 0u) << last;
  }
  // The pin whose UNPIN_BUFFER failed: closing the file unpinned it.
  EXPECT_EQ(kernel_->complaints(), std::vector<std::string>{"close of /dev/gdrdrv with pins left"});
}

}  // namespace
}  // namespace isthmus::window

#include "transfer/profile/profile.hpp"

#include <limits>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "host/fixture_tree.hpp"
#include "transfer/profile_text.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr CopyPath kPaths[] = {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                               CopyPath::staged, CopyPath::registered};
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

std::vector<LinkClass> every_link() {
  std::vector<LinkClass> links = {{LinkClass::Kind::nvlink_c2c, 0, 0},
                                  {LinkClass::Kind::emulated, 0, 0}};
  for (const int generation : {1, 2, 3, 4, 5, 6})
    for (const int width : {1, 2, 4, 8, 16})
      links.push_back({LinkClass::Kind::pcie, generation, width});
  return links;
}

ProfileIdentity machine_with(const LinkClass& link, double num_cores) {
  ProfileIdentity identity = test::h100();
  identity.link = link;
  identity.num_cores = num_cores;
  return identity;
}

double seconds(const Profile& profile, CopyPath path, std::size_t size_bytes,
               Direction direction = Direction::host_to_device,
               MemoryKind kind = MemoryKind::pageable) {
  const CostCurve* const curve = profile.curve(path, direction, kind);
  return curve == nullptr ? std::numeric_limits<double>::infinity() : curve->seconds(size_bytes);
}

// --- curves

TEST(CostCurve, CostsLieOnTheLinesBetweenPoints) {
  const CostCurve curve({{100, 1e-6}, {200, 3e-6}, {400, 4e-6}});
  EXPECT_DOUBLE_EQ(curve.seconds(100), 1e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(150), 2e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(300), 3.5e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(400), 4e-6);
}

TEST(CostCurve, BelowTheFirstPointItsCostHolds) {
  const CostCurve curve({{100, 1e-6}, {200, 3e-6}});
  EXPECT_DOUBLE_EQ(curve.seconds(1), 1e-6);
  EXPECT_DOUBLE_EQ(curve.seconds(0), 1e-6);
}

TEST(CostCurve, BeyondTheLastPointTheLastSlopeGoesOn) {
  const CostCurve curve({{100, 1e-6}, {200, 3e-6}});
  EXPECT_DOUBLE_EQ(curve.seconds(300), 5e-6);
}

TEST(CostCurve, NoiseAtTheEndDoesNotMakeLongCopiesFree) {
  const CostCurve curve({{100, 3e-6}, {200, 1e-6}});
  EXPECT_DOUBLE_EQ(curve.seconds(1000), 5e-6);
}

TEST(CostCurve, OnePointIsAConstant) {
  EXPECT_DOUBLE_EQ(CostCurve({{100, 2e-6}}).seconds(1U << 30U), 2e-6);
}

TEST(CostCurve, SenselessPointsAreRefused) {
  EXPECT_THROW(CostCurve(std::vector<CostPoint>{}), UsageError);
  EXPECT_THROW(CostCurve({{100, 0}}), UsageError);
  EXPECT_THROW(CostCurve({{100, -1e-6}}), UsageError);
  EXPECT_THROW(CostCurve({{100, std::numeric_limits<double>::quiet_NaN()}}), UsageError);
  EXPECT_THROW(CostCurve({{100, std::numeric_limits<double>::infinity()}}), UsageError);
  EXPECT_THROW(CostCurve({{100, 1e-6}, {100, 2e-6}}), UsageError);
  EXPECT_THROW(CostCurve({{200, 1e-6}, {100, 2e-6}}), UsageError);
}

// --- choosing

TEST(Profile, FindsEachCurveAndNoOther) {
  const auto both = Direction::device_to_host;
  const Profile profile(
      {{CopyPath::driver, both, MemoryKind::pinned, CostCurve({{1, 1e-6}})},
       {CopyPath::registered, both, MemoryKind::pageable, CostCurve({{1, 2e-6}})}},
      false, "two");
  const Profile copy = profile;
  EXPECT_DOUBLE_EQ(seconds(copy, CopyPath::driver, 1, both, MemoryKind::pinned), 1e-6);
  EXPECT_DOUBLE_EQ(seconds(copy, CopyPath::registered, 1, both), 2e-6);
  int num_found = 0;
  for (const CopyPath path : kPaths)
    for (const Direction direction : kDirections)
      for (const MemoryKind kind : {MemoryKind::unknown, MemoryKind::pageable, MemoryKind::pinned,
                                    MemoryKind::device, MemoryKind::managed, MemoryKind::host})
        num_found += copy.curve(path, direction, kind) != nullptr ? 1 : 0;
  EXPECT_EQ(num_found, 2);
}

TEST(Profile, EveryPathMustBeThisManyTimesCheaperThanTheDriversCopy) {
  for (const CopyPath path : kPaths)
    EXPECT_DOUBLE_EQ(margin_of(path), path == CopyPath::driver ? 1 : 1.3) << name_of(path);
}

// --- defaults

TEST(Defaults, EveryKindOfLinkHasThemForEveryWay) {
  for (const LinkClass& link : every_link()) {
    const Profile profile = Profile::defaults(machine_with(link, 8));
    EXPECT_FALSE(profile.measured());
    EXPECT_EQ(profile.source(), "defaults for " + link.name());
    for (const Direction direction : kDirections) {
      for (const CopyPath path : kPaths)
        EXPECT_NE(profile.curve(path, direction, MemoryKind::pageable), nullptr) << link.name();
      for (const CopyPath path : {CopyPath::window, CopyPath::window_threads, CopyPath::driver})
        EXPECT_NE(profile.curve(path, direction, MemoryKind::pinned), nullptr) << link.name();
    }
  }
}

TEST(Defaults, PinnedMemoryIsNeitherStagedNorPinnedAgain) {
  const Profile profile = Profile::defaults(machine_with({}, 8));
  for (const Direction direction : kDirections) {
    EXPECT_EQ(profile.curve(CopyPath::staged, direction, MemoryKind::pinned), nullptr);
    EXPECT_EQ(profile.curve(CopyPath::registered, direction, MemoryKind::pinned), nullptr);
  }
}

void expect_ascending(const CostCurve& curve, const std::string& whose) {
  for (std::size_t size = 4; size <= 1024 * kMiB; size *= 2)
    ASSERT_LE(curve.seconds(size), curve.seconds(size + size / 2)) << whose << ", " << size;
}

void expect_ascending(const Profile& profile, const std::string& whose) {
  for (const CopyPath path : kPaths) {
    for (const Direction direction : kDirections) {
      for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) {
        const CostCurve* const curve = profile.curve(path, direction, kind);
        if (curve != nullptr) expect_ascending(*curve, whose + ", " + std::string(name_of(path)));
      }
    }
  }
}

TEST(Defaults, MoreBytesNeverCostLess) {
  for (const LinkClass& link : every_link())
    for (const double num_cores : {0.5, 1.0, 2.0, 8.0, 64.0})
      expect_ascending(Profile::defaults(machine_with(link, num_cores)), link.name());
}

TEST(Defaults, ALinkWithMoreLanesIsNeverSlower) {
  for (const int generation : {1, 2, 3, 4, 5, 6}) {
    const auto narrow = Profile::defaults(machine_with({LinkClass::Kind::pcie, generation, 4}, 8));
    const auto wide = Profile::defaults(machine_with({LinkClass::Kind::pcie, generation, 16}, 8));
    for (const CopyPath path : kPaths)
      for (const std::size_t size : {std::size_t{64}, kMiB, 64 * kMiB})
        EXPECT_LE(seconds(wide, path, size), seconds(narrow, path, size)) << generation;
  }
}

TEST(Defaults, StagingPaysForLongPageableCopiesWithEightCoresAndNotWithOne) {
  for (const int generation : {3, 4, 5, 6}) {
    const LinkClass link{LinkClass::Kind::pcie, generation, 16};
    for (const Direction direction : kDirections) {
      const Profile eight = Profile::defaults(machine_with(link, 8));
      EXPECT_LT(seconds(eight, CopyPath::staged, 64 * kMiB, direction),
                seconds(eight, CopyPath::driver, 64 * kMiB, direction))
          << link.name();
      const Profile one = Profile::defaults(machine_with(link, 1));
      EXPECT_GT(seconds(one, CopyPath::staged, 64 * kMiB, direction),
                seconds(one, CopyPath::driver, 64 * kMiB, direction))
          << link.name();
    }
  }
}

TEST(Defaults, SmallCopiesAreMadeByOneThread) {
  const Profile profile = Profile::defaults(machine_with({LinkClass::Kind::pcie, 5, 16}, 16));
  for (const std::size_t size : {std::size_t{4}, std::size_t{65536}, 256 * std::size_t{1024}})
    EXPECT_GT(seconds(profile, CopyPath::staged, size), seconds(profile, CopyPath::driver, size));
}

TEST(Defaults, TheSmallestCopiesGoThroughWindowsAndLongPinnedOnesThroughTheDriver) {
  for (const int generation : {3, 4, 5, 6}) {
    const auto profile =
        Profile::defaults(machine_with({LinkClass::Kind::pcie, generation, 16}, 8));
    for (const Direction direction : kDirections) {
      const auto of = [&](CopyPath path, std::size_t size) {
        return seconds(profile, path, size, direction, MemoryKind::pinned);
      };
      EXPECT_LT(of(CopyPath::window, 64), of(CopyPath::driver, 64) / 3);
      EXPECT_GT(of(CopyPath::window, 4 * kMiB), of(CopyPath::driver, 4 * kMiB));
      EXPECT_GT(of(CopyPath::window_threads, 4 * kMiB), of(CopyPath::driver, 4 * kMiB));
    }
  }
}

TEST(Defaults, OverNvlinkTheDriversCopyOfPageableMemoryIsBest) {
  const auto profile = Profile::defaults(machine_with({LinkClass::Kind::nvlink_c2c, 0, 0}, 64));
  EXPECT_LT(seconds(profile, CopyPath::driver, 64 * kMiB),
            seconds(profile, CopyPath::staged, 64 * kMiB));
}

TEST(Defaults, OneCoreHasNoSecondThreadToCopyWith) {
  const Profile profile = Profile::defaults(machine_with({}, 1));
  EXPECT_DOUBLE_EQ(seconds(profile, CopyPath::window_threads, kMiB),
                   seconds(profile, CopyPath::window, kMiB));
}

// --- identity

TEST(ProfileIdentity, ADeviceWhoseLinkIsNotDescribedIsTakenForGen4x16) {
  host::FixtureTree tree;
  DeviceFacts device;
  device.pci_address = "0000:06:00.0";
  EXPECT_EQ(identity_of(device, 8, false, tree.root()).link.name(), "PCIe Gen4 x16");
  tree.file("sys/bus/pci/devices/0000:06:00.0/max_link_speed", "32.0 GT/s PCIe\n");
  tree.file("sys/bus/pci/devices/0000:06:00.0/max_link_width", "8\n");
  EXPECT_EQ(identity_of(device, 8, false, tree.root()).link.name(), "PCIe Gen5 x8");
}

TEST(ProfileIdentity, GraceAndTheEmulatedDriverHaveLinksOfTheirOwn) {
  host::FixtureTree tree;
  DeviceFacts device;
  device.pci_address = "0000:06:00.0";
  device.uses_host_page_tables = true;
  EXPECT_EQ(identity_of(device, 8, false, tree.root()).link.name(), "NVLink-C2C");
  EXPECT_EQ(identity_of(device, 8, true, tree.root()).link.name(), "emulated link");
}

TEST(ProfileIdentity, AFileIsNamedByGpuAndLink) {
  ProfileIdentity identity = test::h100();
  const std::string name = profile_file_name(identity);
  EXPECT_EQ(name, "GPU-00112233-4455-6677-8899-aabbccddeeff-PCIe-Gen5-x16.json");
  identity.link.width = 8;
  EXPECT_NE(profile_file_name(identity), name);
}

}  // namespace
}  // namespace isthmus::transfer

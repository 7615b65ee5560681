// libgdrapi, used as programs written for GDRCopy use it.
#include <gdrapi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "capi/device_memory.hpp"
#include "capi/pinned_memory.hpp"

namespace isthmus::test {
namespace {

TEST(Gdr, CopiedBytesAreWhatTheDeviceReads) {
  PinnedMemory memory(300'000);
  const auto bytes = pattern(131'071);
  for (const std::size_t offset : {0, 1, 4, 63, 64, 4095, 100'000}) {
    ASSERT_EQ(gdr_copy_to_mapping(memory.pin, memory.at(offset), bytes.data(), bytes.size()), 0);
    EXPECT_EQ(memory.device.read(offset, bytes.size()), bytes) << offset;
  }
}

TEST(Gdr, CopiesBackAreWhatTheDeviceWrote) {
  PinnedMemory memory(300'000);
  const auto bytes = pattern(131'071);
  for (const std::size_t offset : {0, 1, 4, 63, 64, 4095, 100'000}) {
    memory.device.write(offset, bytes);
    std::vector<std::uint8_t> seen(bytes.size());
    ASSERT_EQ(gdr_copy_from_mapping(memory.pin, seen.data(), memory.at(offset), seen.size()), 0);
    EXPECT_EQ(seen, bytes) << offset;
  }
}

TEST(Gdr, TheMappingCanBeStoredToDirectly) {
  PinnedMemory memory(65536);
  auto* const words = static_cast<volatile std::uint32_t*>(memory.mapped);
  words[3] = 0x01020304;
  EXPECT_EQ(memory.device.read(12, 4), (std::vector<std::uint8_t>{4, 3, 2, 1}));
}

TEST(Gdr, APinIsDescribedBeforeWhileAndAfterItIsMapped) {
  PinnedMemory memory(100'000);
  gdr_info_t info{};
  ASSERT_EQ(gdr_get_info(memory.handle, memory.pin, &info), 0);
  EXPECT_EQ(info.va, memory.device.pointer());
  EXPECT_EQ(info.mapped_size, 131'072U);
  EXPECT_EQ(info.page_size, 65'536U);
  EXPECT_EQ(info.tm_cycles, 0U);
  EXPECT_EQ(info.cycles_per_ms, 0U);
  EXPECT_EQ(info.mapped, 1U);
  EXPECT_EQ(info.wc_mapping, 1U);
  EXPECT_EQ(info.mapping_type, GDR_MAPPING_TYPE_WC);
  ASSERT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 100'000), 0);
  ASSERT_EQ(gdr_get_info(memory.handle, memory.pin, &info), 0);
  EXPECT_EQ(info.mapped, 0U);
  EXPECT_EQ(info.wc_mapping, 0U);
  EXPECT_EQ(info.mapping_type, GDR_MAPPING_TYPE_NONE);
}

#undef gdr_get_info
extern "C" int gdr_get_info(gdr_t g, gdr_mh_t handle, void* info);

TEST(Gdr, OldProgramsGetADescriptionWithoutTheMappingType) {
  PinnedMemory memory(65536);
  gdr_info_v2_t info{};
  info.mapping_type = GDR_MAPPING_TYPE_DEVICE;
  ASSERT_EQ(gdr_get_info(memory.handle, memory.pin, &info), 0);
  EXPECT_EQ(info.va, memory.device.pointer());
  EXPECT_EQ(info.mapped_size, 65'536U);
  EXPECT_EQ(info.mapped, 1U);
  EXPECT_EQ(info.mapping_type, GDR_MAPPING_TYPE_DEVICE);  // libgdrapi doesn't fill it in
}

TEST(Gdr, AnUnalignedBufferIsPinnedWithItsPagesButNotMapped) {
  const DeviceMemory device(200'000);
  const GdrHandle handle;
  gdr_mh_t pin{};
  ASSERT_EQ(gdr_pin_buffer(handle, device.pointer() + 65'536 + 8, 70'000, 0, 0, &pin), 0);
  gdr_info_v2_t info{};
  ASSERT_EQ(gdr_get_info_v2(handle, pin, &info), 0);
  EXPECT_EQ(info.va, device.pointer() + 65'536);
  EXPECT_EQ(info.mapped_size, 131'072U);
  void* mapped = nullptr;
  EXPECT_EQ(gdr_map(handle, pin, &mapped, 70'000), EINVAL);
  EXPECT_EQ(mapped, nullptr);
}

TEST(Gdr, TwoSmallBuffersOfOnePageAreBothPinnedAndTheFirstIsMapped) {
  const DeviceMemory device(65'536);
  const GdrHandle handle;
  gdr_mh_t first{};
  gdr_mh_t second{};
  ASSERT_EQ(gdr_pin_buffer(handle, device.pointer(), 8, 0, 0, &first), 0);
  ASSERT_EQ(gdr_pin_buffer(handle, device.pointer() + 8, 8, 0, 0, &second), 0);
  void* mapped = nullptr;
  EXPECT_EQ(gdr_map(handle, first, &mapped, 8), 0);
  EXPECT_EQ(gdr_map(handle, second, &mapped, 8), EINVAL);
  EXPECT_EQ(gdr_unmap(handle, first, mapped, 8), 0);
}

TEST(Gdr, APinIsMappedOnceAtATimeAndAgainAfterwards) {
  PinnedMemory memory(65'536);
  void* again = nullptr;
  EXPECT_EQ(gdr_map(memory.handle, memory.pin, &again, 65'536), EAGAIN);
  ASSERT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 65'536), 0);
  ASSERT_EQ(gdr_map(memory.handle, memory.pin, &again, 4096), 0);
  const auto bytes = pattern(4096);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, again, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(memory.device.read(0, 4096), bytes);
}

TEST(Gdr, OneBufferMayBePinnedSeveralTimes) {
  PinnedMemory memory(65'536);
  gdr_mh_t second{};
  void* mapped = nullptr;
  ASSERT_EQ(gdr_pin_buffer_v2(memory.handle, memory.device.pointer(), 65'536, 0, &second), 0);
  ASSERT_EQ(gdr_map(memory.handle, second, &mapped, 65'536), 0);
  ASSERT_EQ(gdr_unpin_buffer(memory.handle, memory.pin), 0);
  const auto bytes = pattern(100);
  EXPECT_EQ(gdr_copy_to_mapping(second, mapped, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(memory.device.read(0, 100), bytes);
}

TEST(Gdr, ThePCIeFlagIsAcceptedAndUnknownFlagsAreRefused) {
  const DeviceMemory device(65'536);
  const GdrHandle handle;
  gdr_mh_t pin{};
  EXPECT_EQ(gdr_pin_buffer_v2(handle, device.pointer(), 65'536, GDR_PIN_FLAG_FORCE_PCIE, &pin), 0);
  EXPECT_EQ(gdr_pin_buffer_v2(handle, device.pointer(), 65'536, 2, &pin), EINVAL);
}

TEST(Gdr, WriteCombiningIsAcceptedAndOtherMappingTypesAreRefused) {
  const DeviceMemory device(65'536);
  const GdrHandle handle;
  gdr_mh_t pin{};
  ASSERT_EQ(gdr_pin_buffer(handle, device.pointer(), 65'536, 0, 0, &pin), 0);
  void* mapped = nullptr;
  for (const int flags : {GDR_MAP_FLAG_REQ_CACHE_MAPPING, GDR_MAP_FLAG_REQ_DEVICE_MAPPING})
    EXPECT_EQ(gdr_map_v2(handle, pin, &mapped, 65'536, flags), EINVAL);
  EXPECT_EQ(gdr_map_v2(handle, pin, &mapped, 65'536, 4), EINVAL);
  EXPECT_EQ(gdr_map_v2(handle, pin, &mapped, 65'536, -1), EINVAL);
  EXPECT_EQ(gdr_map_v2(handle, pin, &mapped, 65'536, GDR_MAP_FLAG_REQ_WC_MAPPING), 0);
}

// With a buffer that doesn't share its memory: CUDA packs several small buffers into 2 MiB.
TEST(Gdr, AMappingOutlivesItsBuffer) {
  constexpr std::size_t kOwnMemoryBytes = 4'194'304;
  GdrHandle handle;
  gdr_mh_t pin{};
  void* mapped = nullptr;
  {
    const DeviceMemory device(kOwnMemoryBytes);
    ASSERT_EQ(gdr_pin_buffer(handle, device.pointer(), 65'536, 0, 0, &pin), 0);
    ASSERT_EQ(gdr_map(handle, pin, &mapped, 65'536), 0);
    *static_cast<volatile int*>(mapped) = 1234;
  }
  const DeviceMemory likely_at_the_same_address(kOwnMemoryBytes);
  int flag = -1;
  EXPECT_EQ(*static_cast<volatile int*>(mapped), 1234);
  EXPECT_EQ(gdr_get_callback_flag(handle, pin, &flag), 0);
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(gdr_unmap(handle, pin, mapped, 65'536), 0);
  EXPECT_EQ(gdr_unpin_buffer(handle, pin), 0);
  EXPECT_EQ(likely_at_the_same_address.read(0, 64), std::vector<std::uint8_t>(64, 0xA5));
}

TEST(Gdr, ThreadsPinMapCopyAndUnpinBesideEachOther) {
  const DeviceMemory device(65'536 * 4);
  const GdrHandle handle;
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < 4; ++part)
    threads.emplace_back([&, part] {
      const std::vector<std::uint8_t> bytes(65'536, static_cast<std::uint8_t>(part));
      for (int round = 0; round < 20; ++round) {
        gdr_mh_t pin{};
        void* mapped = nullptr;
        ASSERT_EQ(gdr_pin_buffer(handle, device.pointer() + part * 65'536, 65'536, 0, 0, &pin), 0);
        ASSERT_EQ(gdr_map(handle, pin, &mapped, 65'536), 0);
        ASSERT_EQ(gdr_copy_to_mapping(pin, mapped, bytes.data(), bytes.size()), 0);
        ASSERT_EQ(gdr_unmap(handle, pin, mapped, 65'536), 0);
        ASSERT_EQ(gdr_unpin_buffer(handle, pin), 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t part = 0; part < 4; ++part)
    EXPECT_EQ(device.read(part * 65'536, 65'536),
              std::vector<std::uint8_t>(65'536, static_cast<std::uint8_t>(part)));
}

TEST(Gdr, ItIsVersion2Point6) {
  int major = 0;
  int minor = 0;
  gdr_runtime_get_version(&major, &minor);
  EXPECT_EQ(major, 2);
  EXPECT_EQ(minor, 6);
  const GdrHandle handle;
  ASSERT_EQ(gdr_driver_get_version(handle, &major, &minor), 0);
  EXPECT_EQ(major, 2);
  EXPECT_EQ(minor, 6);
}

TEST(Gdr, AttributesSayHowItMaps) {
  const GdrHandle handle;
  int value = -1;
  ASSERT_EQ(gdr_get_attribute(handle, GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE, &value), 0);
  EXPECT_EQ(value, 1);
  ASSERT_EQ(gdr_get_attribute(handle, GDR_ATTR_USING_DMA_BUF_MMAP, &value), 0);
  EXPECT_EQ(value, 0);
  ASSERT_EQ(gdr_get_attribute(handle, GDR_ATTR_USE_PERSISTENT_MAPPING, &value), 0);
  EXPECT_EQ(value, access("/dev/gdrdrv", R_OK | W_OK) == 0 ? 0 : 1);
  EXPECT_EQ(gdr_get_attribute(handle, GDR_ATTR_MAX, &value), EINVAL);
  EXPECT_EQ(value, 0);
}

TEST(Gdr, MappingTypesHaveTheirWords) {
  const char* words = nullptr;
  ASSERT_EQ(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_WC, &words), 0);
  EXPECT_STREQ(words, "Write Combining");
  ASSERT_EQ(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_NONE, &words), 0);
  EXPECT_STREQ(words, "None");
  ASSERT_EQ(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_CACHING, &words), 0);
  EXPECT_STREQ(words, "Caching");
  ASSERT_EQ(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_DEVICE, &words), 0);
  EXPECT_STREQ(words, "Device");
  EXPECT_EQ(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_MAX, &words), EINVAL);
}

}  // namespace
}  // namespace isthmus::test

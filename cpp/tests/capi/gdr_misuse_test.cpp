// Wrong use of libgdrapi: it never crashes, and never gives access to another buffer.
#include <gdrapi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "capi/child_process.hpp"
#include "capi/device_memory.hpp"
#include "capi/pinned_memory.hpp"

namespace isthmus::test {
namespace {

TEST(GdrMisuse, OtherMemoryThanADevicesIsNotPinned) {
  const GdrHandle handle;
  gdr_mh_t pin{};
  char ordinary[64] = {};
  EXPECT_EQ(gdr_pin_buffer(handle, 0, 64, 0, 0, &pin), EINVAL);
  EXPECT_EQ(gdr_pin_buffer(handle, reinterpret_cast<unsigned long>(ordinary), 64, 0, 0, &pin),
            EINVAL);
  const Context own = context();
  const CurrentContext current(own);
  PinnedBuffer pinned(own, 65'536);
  EXPECT_EQ(gdr_pin_buffer(handle, reinterpret_cast<unsigned long>(pinned.data()), 64, 0, 0, &pin),
            EINVAL);
  EXPECT_EQ(pin.h, 0U);
}

TEST(GdrMisuse, ImpossibleLengthsAreNotPinned) {
  const DeviceMemory device(65'536);
  const GdrHandle handle;
  gdr_mh_t pin{};
  EXPECT_EQ(gdr_pin_buffer(handle, device.pointer(), 0, 0, 0, &pin), EINVAL);
  EXPECT_EQ(gdr_pin_buffer(handle, device.pointer(), std::size_t{1} << 40, 0, 0, &pin), EINVAL);
  EXPECT_EQ(gdr_pin_buffer(handle, device.pointer(), SIZE_MAX, 0, 0, &pin), EINVAL);
  EXPECT_EQ(pin.h, 0U);
}

TEST(GdrMisuse, TokensAreRefused) {
  const DeviceMemory device(65'536);
  const GdrHandle handle;
  gdr_mh_t pin{};
  EXPECT_EQ(gdr_pin_buffer(handle, device.pointer(), 65'536, 1, 0, &pin), EINVAL);
  EXPECT_EQ(gdr_pin_buffer(handle, device.pointer(), 65'536, 0, 1, &pin), EINVAL);
}

TEST(GdrMisuse, NullPointersAreRefused) {
  PinnedMemory memory(65'536);
  const gdr_mh_t none{};
  int value = 0;
  EXPECT_EQ(gdr_pin_buffer(memory.handle, memory.device.pointer(), 64, 0, 0, nullptr), EINVAL);
  EXPECT_EQ(gdr_map(memory.handle, memory.pin, nullptr, 64), EINVAL);
  EXPECT_EQ(gdr_get_info_v2(memory.handle, memory.pin, nullptr), EINVAL);
  EXPECT_EQ(gdr_get_callback_flag(memory.handle, memory.pin, nullptr), EINVAL);
  EXPECT_EQ(gdr_driver_get_version(memory.handle, nullptr, &value), EINVAL);
  EXPECT_EQ(gdr_driver_get_version(nullptr, &value, &value), EINVAL);
  EXPECT_EQ(gdr_get_attribute(nullptr, GDR_ATTR_USE_PERSISTENT_MAPPING, &value), EINVAL);
  EXPECT_EQ(gdr_get_attribute(memory.handle, GDR_ATTR_USE_PERSISTENT_MAPPING, nullptr), EINVAL);
  EXPECT_EQ(gdr_get_mapping_type_string(GDR_MAPPING_TYPE_WC, nullptr), EINVAL);
  EXPECT_EQ(gdr_unpin_buffer(memory.handle, none), EINVAL);
  EXPECT_EQ(gdr_copy_to_mapping(none, memory.mapped, &value, 4), EINVAL);
  EXPECT_EQ(gdr_copy_from_mapping(none, &value, memory.mapped, 4), EINVAL);
  EXPECT_EQ(gdr_close(nullptr), EINVAL);
  gdr_runtime_get_version(nullptr, nullptr);
}

TEST(GdrMisuse, AnInvalidHandleIsRefused) {
  gdr_mh_t pin{};
  long not_a_handle[16] = {};
  auto* const g = reinterpret_cast<gdr_t>(not_a_handle);
  EXPECT_EQ(gdr_pin_buffer(g, 65'536, 65'536, 0, 0, &pin), EINVAL);
  EXPECT_EQ(gdr_close(g), EINVAL);
}

TEST(GdrMisuse, ClosedAndUnpinnedHandlesAreRefused) {
  const DeviceMemory device(65'536);
  gdr_t const g = gdr_open();
  gdr_mh_t pin{};
  void* mapped = nullptr;
  int value = 0;
  ASSERT_EQ(gdr_pin_buffer(g, device.pointer(), 65'536, 0, 0, &pin), 0);
  ASSERT_EQ(gdr_map(g, pin, &mapped, 65'536), 0);
  ASSERT_EQ(gdr_unpin_buffer(g, pin), 0);
  EXPECT_EQ(gdr_unpin_buffer(g, pin), EINVAL);
  EXPECT_EQ(gdr_map(g, pin, &mapped, 65'536), EINVAL);
  EXPECT_EQ(gdr_unmap(g, pin, mapped, 65'536), EINVAL);
  EXPECT_EQ(gdr_copy_to_mapping(pin, mapped, &value, 4), EINVAL);
  EXPECT_EQ(gdr_copy_from_mapping(pin, &value, mapped, 4), EINVAL);
  ASSERT_EQ(gdr_close(g), 0);
  EXPECT_EQ(gdr_close(g), EINVAL);
  EXPECT_EQ(gdr_pin_buffer(g, device.pointer(), 65'536, 0, 0, &pin), EINVAL);
}

TEST(GdrMisuse, APinOfAnotherHandleIsRefused) {
  PinnedMemory memory(65'536);
  const GdrHandle other;
  gdr_info_v2_t info{};
  EXPECT_EQ(gdr_get_info_v2(other, memory.pin, &info), EINVAL);
  EXPECT_EQ(gdr_unmap(other, memory.pin, memory.mapped, 65'536), EINVAL);
  EXPECT_EQ(gdr_unpin_buffer(other, memory.pin), EINVAL);
}

TEST(GdrMisuse, MoreThanIsPinnedIsNotMapped) {
  PinnedMemory memory(65'536);
  ASSERT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 65'536), 0);
  void* mapped = nullptr;
  EXPECT_EQ(gdr_map(memory.handle, memory.pin, &mapped, 65'537), EINVAL);
  EXPECT_EQ(gdr_map(memory.handle, memory.pin, &mapped, SIZE_MAX), EINVAL);
  EXPECT_EQ(gdr_map(memory.handle, memory.pin, &mapped, 0), EINVAL);
  EXPECT_EQ(mapped, nullptr);
}

TEST(GdrMisuse, UnmappingWithoutAMappingIsRefused) {
  PinnedMemory memory(65'536);
  EXPECT_EQ(gdr_unmap(memory.handle, memory.pin, memory.at(4096), 4096), EINVAL);
  EXPECT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 0), EINVAL);
  EXPECT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 131'072), EINVAL);
  EXPECT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 65'536), 0);
  EXPECT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 65'536), EINVAL);
}

TEST(GdrMisuse, CopiesOutsideTheMappingAreRefusedAndCopyNothing) {
  PinnedMemory memory(131'072);
  ASSERT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 131'072), 0);
  ASSERT_EQ(gdr_map(memory.handle, memory.pin, &memory.mapped, 5000), 0);  // two CPU pages
  const auto bytes = pattern(8192);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.mapped, bytes.data(), 8192), 0);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.at(1), bytes.data(), 8192), EINVAL);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.at(8192), bytes.data(), 1), EINVAL);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.at(0) - 1, bytes.data(), 1), EINVAL);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.mapped, bytes.data(), SIZE_MAX), EINVAL);
  std::uint8_t target = 9;
  EXPECT_EQ(gdr_copy_from_mapping(memory.pin, &target, memory.at(8192), 1), EINVAL);
  EXPECT_EQ(target, 9);
  EXPECT_EQ(memory.device.read(8192, 1)[0], 0xA5);
}

TEST(GdrMisuse, NoBytesAreCopiedWithoutComplaintOnlyWhileMapped) {
  PinnedMemory memory(65'536);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, nullptr, nullptr, 0), 0);
  EXPECT_EQ(gdr_copy_from_mapping(memory.pin, nullptr, memory.at(65'536), 0), 0);
  ASSERT_EQ(gdr_unmap(memory.handle, memory.pin, memory.mapped, 65'536), 0);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.mapped, nullptr, 0), EINVAL);
  EXPECT_EQ(gdr_copy_from_mapping(memory.pin, nullptr, memory.mapped, 0), EINVAL);
}

[[noreturn]] void load_after_closing() {
  die_of_faults();
  const DeviceMemory device(65'536);
  // A thread that starts just then, of the emulated device or of a sanitizer, may map its own memory at an address that was given
  // back: a load there doesn't fault, and doesn't read what the device holds. The next mapping tells.
  for (int attempt = 0; attempt != 20; ++attempt) {
    gdr_t const g = gdr_open();
    gdr_mh_t pin{};
    void* mapped = nullptr;
    if (gdr_pin_buffer(g, device.pointer(), 65'536, 0, 0, &pin) != 0 ||
        gdr_map(g, pin, &mapped, 65'536) != 0)
      std::_Exit(1);
    const auto* byte = static_cast<const volatile std::uint8_t*>(mapped);
    if (*byte != 0xA5 || gdr_close(g) != 0) std::_Exit(2);
    if (*byte == 0xA5) std::_Exit(3);
  }
  std::_Exit(4);
}

TEST(GdrMisuse, TheMappingFaultsOnceItsHandleIsClosed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(load_after_closing(), ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace isthmus::test

// libgdrapi across fork(): what a child inherits, and what it may do.
#include <gdrapi.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "capi/child_process.hpp"
#include "capi/device_memory.hpp"
#include "capi/pinned_memory.hpp"

namespace isthmus::test {
namespace {

TEST(GdrFork, AChildHasNeitherHandlesNorMappings) {
  PinnedMemory memory(65'536);
  const int child = in_child([&] {
    int value = 0;
    void* mapped = nullptr;
    gdr_mh_t pin{};
    if (gdr_copy_to_mapping(memory.pin, memory.mapped, &value, 4) != EINVAL) return 1;
    if (gdr_copy_from_mapping(memory.pin, &value, memory.mapped, 4) != EINVAL) return 2;
    if (gdr_map(memory.handle, memory.pin, &mapped, 65'536) != EINVAL) return 3;
    if (gdr_unpin_buffer(memory.handle, memory.pin) != EINVAL) return 4;
    if (gdr_close(memory.handle) != EINVAL) return 5;
    gdr_t const own = gdr_open();
    if (own == nullptr) return 6;
    if (gdr_pin_buffer(own, memory.device.pointer(), 65'536, 0, 0, &pin) != EINVAL) return 7;
    return gdr_close(own) == 0 ? 0 : 8;
  });
  EXPECT_EQ(child, 0);
  EXPECT_EQ(signal_of_loading(memory.mapped), SIGSEGV);
  const auto bytes = pattern(64);
  EXPECT_EQ(gdr_copy_to_mapping(memory.pin, memory.mapped, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(memory.device.read(0, 64), bytes);
}

// In its own process, which hasn't used CUDA yet.
[[noreturn]] void open_then_pin_in_a_child() {
  gdr_t const g = gdr_open();
  int value = 0;
  if (g == nullptr || gdr_get_attribute(g, GDR_ATTR_USING_DMA_BUF_MMAP, &value) != 0)
    std::_Exit(10);
  std::_Exit(in_child([] {
    const DeviceMemory device(65'536);
    const GdrHandle own;
    gdr_mh_t pin{};
    return gdr_pin_buffer(own, device.pointer(), 65'536, 0, 0, &pin) == 0 ? 0 : 1;
  }));
}

TEST(GdrFork, OpeningLeavesCUDAToTheChild) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(open_then_pin_in_a_child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace isthmus::test

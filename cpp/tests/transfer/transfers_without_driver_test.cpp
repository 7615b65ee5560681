// Where there is no driver: copies within the host's memory, and what needs one.
#include <gtest/gtest.h>
#include <isthmus/driver.hpp>
#include <isthmus/errors.hpp>
#include <isthmus/pinned.hpp>
#include <isthmus/transfer.hpp>
#include <isthmus/window.hpp>

#include <array>
#include <functional>
#include <string>

namespace isthmus::transfer {
namespace {

const std::string kReason = "libcuda.so.1 was never here";

Driver no_driver() { return Driver::absent(kReason, "a driver"); }

void expect_unavailable(const std::function<void()>& call) {
  try {
    call();
    FAIL() << "it needs no driver";
  } catch (const Unavailable& absence) {
    EXPECT_EQ(absence.reason(), kReason);
    EXPECT_EQ(absence.needs(), "a driver");
  }
}

TEST(WithoutDriver, BytesAreCopiedWithinTheHostsMemory) {
  Transfers transfers(no_driver());
  const std::array<char, 4> sent{'s', 'e', 'n', 't'};
  std::array<char, 4> back{};
  transfers.copy(back.data(), sent.data(), sent.size());
  EXPECT_EQ(back, sent);
  back.fill(0);
  transfers.copy_async(back.data(), sent.data(), sent.size()).wait();
  EXPECT_EQ(back, sent);
  EXPECT_EQ(transfers.explain(back.data(), sent.data(), sent.size()).device, -1);
  EXPECT_EQ(transfers.stats().front().num_copies, 0U);
  transfers.trim();
}

TEST(WithoutDriver, EveryCallThatNeedsOneSaysWhyThereIsNone) {
  const Driver driver = no_driver();
  EXPECT_EQ(driver.device_count(), 0);
  EXPECT_FALSE(driver.has_devices());
  EXPECT_FALSE(driver.emulated());
  Transfers transfers(driver);
  std::array<char, 4> host{};
  CopyOptions to_device;
  to_device.target_kind = MemoryKind::device;
  CopyOptions in_stream;
  in_stream.stream = 4096;
  expect_unavailable([&] { driver.require_devices(); });
  expect_unavailable([&] { transfers.copy(&host[2], host.data(), 2, to_device); });
  expect_unavailable([&] { transfers.copy(&host[2], host.data(), 2, in_stream); });
  expect_unavailable([&] { Windows(driver).open(4096, 4); });
  expect_unavailable([&] { PinnedPool(driver, 0).allocate(4); });
}

}  // namespace
}  // namespace isthmus::transfer

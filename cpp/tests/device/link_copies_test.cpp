// Batches and graphs of copies, and the classes that own them.
#include "device/link_copies.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "../faults/emulator_controls.hpp"
#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "test_driver.hpp"

namespace isthmus {
namespace {

constexpr std::size_t kPieceBytes = 1024;
constexpr std::size_t kNumPieces = 4;

/// Pieces of pinned and device memory; piece i of one is copied to piece i of the other.
class LinkCopies : public testing::Test {
protected:
  void put_on_host(int seed) {
    for (std::size_t i = 0; i < host_.size_bytes(); ++i)
      host_.data()[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  }
  std::vector<LinkCopy> copies(bool to_device) const {
    std::vector<LinkCopy> all;
    for (std::size_t i = 0; i < kNumPieces; ++i) {
      const std::size_t offset = i * kPieceBytes;
      all.push_back({host_.data() + offset, device_.pointer() + offset, kPieceBytes, to_device});
    }
    return all;
  }
  /// Uploads the host's bytes, overwrites them, and downloads them again.
  template <typename Copies>
  void expect_round_trip(const Copies& up, const Copies& down) {
    for (const int seed : {1, 2}) {
      put_on_host(seed);
      const std::vector<std::byte> sent(host_.data(), host_.data() + host_.size_bytes());
      up.enqueue(stream_.handle());
      stream_.synchronize();
      std::memset(host_.data(), 0, host_.size_bytes());
      down.enqueue(stream_.handle());
      stream_.synchronize();
      EXPECT_EQ(std::memcmp(host_.data(), sent.data(), sent.size()), 0);
    }
  }

  Context context_ = test::context();
  CurrentContext current_{context_};
  Stream stream_{context_};
  PinnedBuffer host_{context_, kPieceBytes * kNumPieces};
  DeviceBuffer device_{context_, kPieceBytes * kNumPieces};
};

TEST_F(LinkCopies, OfABatchAllArrive) {
  if (!test::driver().has(symbol::memcpy_batch_async)) GTEST_SKIP() << "a driver before CUDA 12.8";
  expect_round_trip(CopyBatch(context_, copies(true)), CopyBatch(context_, copies(false)));
}

TEST_F(LinkCopies, OfAGraphAllArriveInAnyOrderAndInTheGivenOne) {
  for (const auto order : {CopyGraph::Order::any, CopyGraph::Order::given}) {
    expect_round_trip(CopyGraph(context_, copies(true), order),
                      CopyGraph(context_, copies(false), order));
  }
}

TEST_F(LinkCopies, OfAGraphInTheGivenOrderOverwriteEachOther) {
  put_on_host(3);
  std::vector<LinkCopy> onto_one = copies(true);
  for (LinkCopy& copy : onto_one) copy.device = device_.pointer();
  CopyGraph(context_, onto_one, CopyGraph::Order::given).enqueue(stream_.handle());
  stream_.synchronize();
  std::vector<std::byte> arrived(kPieceBytes);
  test::driver().call(symbol::memcpy_dtoh)(static_cast<void*>(arrived.data()), device_.pointer(),
                                           kPieceBytes);
  EXPECT_EQ(std::memcmp(arrived.data(), onto_one.back().host, kPieceBytes), 0);
}

TEST_F(LinkCopies, AreAtLeastOne) {
  EXPECT_THROW(CopyBatch(context_, {}), UsageError);
  EXPECT_THROW(CopyGraph(context_, {}), UsageError);
}

TEST_F(LinkCopies, ThatFailOnTheWayLeaveNoGraphBehind) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only emulated calls can be made to fail";
  const test::EmulatorControls controls(test::driver());
  const IsthmusEmulatorLive before = controls.live();
  for (const char* symbol :
       {"cuGraphCreate", "cuGraphAddMemcpyNode", "cuGraphInstantiateWithFlags"}) {
    controls.fail_call(symbol, 1, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_THROW(CopyGraph(context_, copies(true)), OutOfDeviceMemory) << symbol;
    EXPECT_EQ(controls.live(), before) << symbol;
  }
  {
    const CopyGraph used(context_, copies(true));
  }
  EXPECT_EQ(controls.live(), before);
}

}  // namespace
}  // namespace isthmus

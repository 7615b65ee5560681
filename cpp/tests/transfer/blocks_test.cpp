// Copies of blocks by index.
#include <isthmus/errors.hpp>

#include "transfer/blocks_under_test.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace isthmus::transfer {
namespace {

using Blocks = BlocksUnderTest;

TEST_F(Blocks, OfAnySizeAndAlignmentArriveByEachWay) {
  unsigned seed = 0;
  for (const std::size_t block_bytes : {1, 48, 100, 512, 4096, 20000, 70000})
    for (const std::size_t gap_bytes : {std::size_t{0}, std::size_t{16}, std::size_t{3}}) {
      make({block_bytes, gap_bytes, 2}, ++seed);
      for (const std::string_view way : {"", "kernel", "batch", "staged"}) {
        SCOPED_TRACE(std::to_string(block_bytes) + "+" + std::to_string(gap_bytes) + " " +
                     std::string(way));
        expect_up_and_down(by_way(way));
      }
    }
}

TEST_F(Blocks, OfMoreLayersThanALaunchTakesArrive) {
  make({256, 0, 2 * kIsthmusLayers + 3, 7});
  expect_up_and_down();
}

TEST_F(Blocks, ByIndicesOnTheDeviceArriveInTheOrderOfTheStream) {
  make({1000, 24});
  const Bytes sent = pattern(shape_.bytes(), 5);
  std::ranges::copy(sent, host_);
  fill(device_, shape_.bytes(), kGuard);
  const BlockCopy copy = with_device_indices(up());
  const BlockOptions options = by_way("");
  transfers().prepare_blocks(copy,
                             options);  // a driver may load kernels only while no stream is held
  isthmus::contract::Gate held = gate();
  held.hold(reinterpret_cast<CUstream>(options.stream));
  CopyFuture future = transfers().copy_blocks(copy, options);
  EXPECT_FALSE(future.ready());
  held.open();
  future.wait();
  EXPECT_EQ(on_device(device_, shape_.bytes()), expected(sent, Bytes(sent.size(), kGuard)));
  EXPECT_EQ(transfers().prepare_blocks(copy, options).explain().num_copies, 20u);
}

TEST_F(Blocks, WithPageablePoolsArriveWhereverTheIndicesAre) {
  make({700, 4, 2});
  const Bytes sent = pattern(shape_.bytes(), 6);
  const std::vector<BlockPool> pageable = pools(const_cast<std::uint8_t*>(sent.data()));
  for (const bool on_device_side : {false, true}) {
    fill(device_, shape_.bytes(), kGuard);
    BlockCopy copy = up();
    copy.sources = pageable;
    if (on_device_side) copy = with_device_indices(copy);
    transfers().copy_blocks(copy).wait();
    EXPECT_EQ(on_device(device_, shape_.bytes()), expected(sent, Bytes(sent.size(), kGuard)));
  }
  BlockCopy copy = up();
  copy.sources = pageable;
  EXPECT_EQ(transfers().prepare_blocks(copy).explain().way, "staged");
}

TEST_F(Blocks, OfAPoolThatWasPinnedInPiecesAreAKernelsWork) {
  PinOptions pieces;
  pieces.max_piece_bytes = std::size_t{2} << 20U;
  const PinnedRegion region(Context::retain(driver(), 0), 3 * pieces.max_piece_bytes, pieces);
  make({4096, 120000});
  ASSERT_GT(shape_.bytes(), 2 * pieces.max_piece_bytes);
  const std::vector<BlockPool> pinned = pools(region.data());
  BlockCopy copy = up();
  copy.sources = pinned;
  EXPECT_EQ(transfers().prepare_blocks(copy).explain().way, "kernel");
  const ManyCopy over_a_border{to_pointer(device_), region.data() + pieces.max_piece_bytes - 100,
                               200};
  EXPECT_EQ(transfers().prepare_many({&over_a_border, 1}).explain().way, "kernel");
}

TEST_F(Blocks, MoveWithinAPoolIfNoneIsBothReadAndWritten) {
  make({512, 0, 1, 10});
  send_to_device(device_, pattern(shape_.bytes(), 7));
  const Bytes before = on_device(device_, shape_.bytes());
  for (std::size_t i = 0; i < 10; ++i) {
    targets_[i] = static_cast<std::int64_t>(2 * i);
    sources_[i] = static_cast<std::int64_t>(2 * i + 1);
  }
  BlockCopy copy = up();
  copy.sources = copy.targets;
  transfers().copy_blocks(copy).wait();
  EXPECT_EQ(on_device(device_, shape_.bytes()), expected(before, before));
  sources_[3] = 8;
  EXPECT_TRUE(says(refusal(copy), "block 8 is source_index[3]"));
}

TEST_F(Blocks, WithAWrongIndexOnTheDeviceAreReportedAndNothingElseIsWritten) {
  make({4096, 0, 2});
  const Bytes sent = pattern(shape_.bytes(), 8);
  std::ranges::copy(sent, host_);
  for (const std::int64_t wrong :
       {std::int64_t{kCount}, std::int64_t{-1}, std::int64_t{1} << 40U}) {
    fill(device_, shape_.bytes(), kGuard);
    const std::vector<std::int64_t> good = sources_;
    sources_[7] = wrong;
    const BlockCopy copy = with_device_indices(up());
    CopyFuture future = transfers().copy_blocks(copy);
    for (int time = 0; time < 2; ++time)
      EXPECT_TRUE(says(message_of<UsageError>([&] { future.wait(); }), "source_index[7] of this"));
    transfers().check_blocks();  // it was told
    sources_ = good;
    Bytes all = expected(sent, Bytes(sent.size(), kGuard));
    for (std::size_t layer = 0; layer < 2; ++layer)
      std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(layer * shape_.layer_bytes()) +
                      targets_[7] * 4096,
                  4096, kGuard);
    EXPECT_EQ(on_device(device_, shape_.bytes()), all);
  }
}

TEST_F(Blocks, WithAWrongIndexDisturbNoOthersAndAreToldOfByWhoIsAskedFirst) {
  make({4096});
  const Bytes sent = pattern(shape_.bytes(), 8);
  std::ranges::copy(sent, host_);
  const BlockCopy good = with_device_indices(up());
  targets_[2] += 1000;
  const BlockCopy wrong = with_device_indices(up());
  targets_[2] -= 1000;
  fill(device_, shape_.bytes(), kGuard);
  const PreparedCopy prepared = transfers().prepare_blocks(wrong);
  const auto expect_told = [&](const auto& call) {
    EXPECT_TRUE(says(message_of<UsageError>(call), "target_index[2]"));
    transfers().check_blocks();
  };
  for (int turn = 0; turn < 3; ++turn) {
    prepared.run();
    CopyFuture bad = transfers().copy_blocks(wrong);
    transfers().copy_blocks(wrong);  // whose future nobody keeps
    transfers().copy_blocks(good).wait();
    EXPECT_EQ(on_device(device_, shape_.bytes()), expected(sent, Bytes(sent.size(), kGuard)));
    EXPECT_TRUE(says(message_of<UsageError>([&] { prepared.run(); }), "an earlier run"));
    EXPECT_TRUE(says(message_of<UsageError>([&] { bad.wait(); }), "of this copy"));
    expect_told([&] { transfers().check_blocks(); });
    expect_told([&] { prepared.run().wait(); });
  }
}

TEST_F(Blocks, WhoseFutureOutlivesTheTransfersTellOfAWrongIndex) {
  make({4096});
  sources_[7] = kCount;
  const BlockCopy wrong = with_device_indices(up());
  CopyFuture future = transfers().copy_blocks(wrong);
  transfers().copy_blocks(wrong);
  {
    CopyFuture dropped_last = transfers().copy_blocks(wrong);
  }
  drop_transfers();
  EXPECT_TRUE(says(message_of<UsageError>([&] { future.wait(); }), "source_index[7]"));
  make_transfers();
}

TEST_F(Blocks, LongRunsOfThemAreABatchOfFewCopies) {
  make({64 * kKiB, 0, 1, 40});
  for (std::size_t i = 0; i < 40; ++i) {
    targets_[i] = static_cast<std::int64_t>(i);
    sources_[i] = static_cast<std::int64_t>(i + 5);
  }
  EXPECT_EQ(transfers().prepare_blocks(up(), by_way("")).explain().way, "batch");
  expect_up_and_down(by_way(""));
  BlockOptions urgent = by_way("");
  urgent.priority = BlockPriority::urgent;
  EXPECT_NE(transfers().prepare_blocks(up(), urgent).explain().way, "batch");
  expect_up_and_down(urgent);
}

TEST_F(Blocks, ThatAreWrongAreRefusedBeforeAnythingIsWritten) {
  make({512, 16});
  fill(device_, shape_.bytes(), kGuard);
  const auto expect_refused = [&](const BlockCopy& copy, const char* why) {
    const std::string message = refusal(copy);
    EXPECT_TRUE(says(message, why)) << message;
  };
  BlockCopy copy = up();
  sources_[4] = kCount;
  expect_refused(up(), "source_index[4] is 50");
  sources_[4] = -1;
  expect_refused(up(), "source_index[4] is -1");
  sources_[4] = 0;
  std::swap(targets_[3], targets_[9]);
  targets_[9] = targets_[3];
  sources_[3] = 1;
  sources_[9] = 2;
  expect_refused(up(), "as is target_index[3]");
  sources_[9] = 1;
  transfers().copy_blocks(up()).wait();  // the same bytes twice
  copy.block_bytes = 0;
  expect_refused(copy, "0 bytes");
  copy.block_bytes = 600;
  expect_refused(copy, "they overlap");
  copy = up();
  copy.sources = {};
  expect_refused(copy, "same number");
  copy = up();
  copy.target_index.item_bytes = 2;
  expect_refused(copy, "int32 or int64");
  copy = up();
  copy.source_index.data = nullptr;
  expect_refused(copy, "null pointer");
  copy.num_blocks = 0;
  transfers().copy_blocks(copy).wait();
  BlockPool pool = up().targets[0];
  pool.count = 1000;
  copy = up();
  copy.targets = {&pool, 1};
  expect_refused(copy, "bytes from its address on");
  pool = up().targets[0];
  pool.address = static_cast<std::byte*>(pool.address) + 528;
  pool.count -= 1;
  copy = up();
  copy.sources = copy.targets;
  copy.targets = {&pool, 1};
  expect_refused(copy, "overlap");
  BlockCopy mixed = up();
  mixed.target_index.data = to_pointer(send_index(targets_));
  expect_refused(mixed, "put both on one side");
  EXPECT_TRUE(says(refusal(up(), by_way("sideways")), "batch, kernel and staged"));
}

}  // namespace
}  // namespace isthmus::transfer

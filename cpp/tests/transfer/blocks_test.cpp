// Copies of blocks by index.
#include <algorithm>
#include <map>
#include <random>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kCount = 50;

/// Pools on both sides, with bytes between their blocks, and indices that hit each block once.
class Blocks : public TransfersUnderTest {
protected:
  struct Shape {
    std::size_t block_bytes = 4096;
    std::size_t gap_bytes = 0;
    std::size_t num_layers = 1;
    std::size_t num_blocks = 20;
    std::size_t stride() const { return block_bytes + gap_bytes; }
    std::size_t layer_bytes() const { return stride() * kCount; }
    std::size_t bytes() const { return layer_bytes() * num_layers; }
  };

  void make(const Shape& shape, unsigned seed = 1) {
    shape_ = shape;
    host_ = pinned_memory(shape.bytes());
    device_ = device_memory(shape.bytes());
    std::mt19937 random(seed);
    const auto shuffled = [&] {
      std::vector<std::int64_t> all(kCount);
      for (std::size_t i = 0; i < kCount; ++i) all[i] = static_cast<std::int64_t>(i);
      std::ranges::shuffle(all, random);
      all.resize(shape.num_blocks);
      return all;
    };
    targets_ = shuffled();
    sources_ = shuffled();
    host_pools_ = pools(host_);
    device_pools_ = pools(to_pointer(device_));
  }
  std::vector<BlockPool> pools(void* memory) const {
    std::vector<BlockPool> made;
    for (std::size_t layer = 0; layer < shape_.num_layers; ++layer)
      made.push_back({static_cast<std::byte*>(memory) + layer * shape_.layer_bytes(), kCount,
                      shape_.stride()});
    return made;
  }
  BlockCopy up() {
    return {device_pools_,   host_pools_,     shape_.block_bytes,
            targets_.data(), sources_.data(), targets_.size()};
  }
  BlockCopy down() {
    BlockCopy copy = up();
    std::swap(copy.targets, copy.sources);
    return copy;
  }
  /// What the target holds after the copy.
  Bytes expected(const Bytes& source, Bytes target) const {
    for (std::size_t layer = 0; layer < shape_.num_layers; ++layer)
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        const auto at = [&](std::int64_t block) {
          return static_cast<std::ptrdiff_t>(layer * shape_.layer_bytes() +
                                             static_cast<std::size_t>(block) * shape_.stride());
        };
        std::copy_n(source.begin() + at(sources_[i]), shape_.block_bytes,
                    target.begin() + at(targets_[i]));
      }
    return target;
  }
  void expect_up_and_down(const BlockOptions& options = {}) {
    const Bytes sent = pattern(shape_.bytes(), 3);
    std::ranges::copy(sent, host_);
    fill(device_, shape_.bytes(), kGuard);
    transfers().copy_blocks(up(), options).wait();
    const Bytes there = expected(sent, Bytes(shape_.bytes(), kGuard));
    EXPECT_EQ(on_device(device_, shape_.bytes()), there);
    std::fill_n(host_, shape_.bytes(), kGuard);
    transfers().copy_blocks(down(), options).wait();
    EXPECT_EQ(Bytes(host_, host_ + shape_.bytes()), expected(there, Bytes(there.size(), kGuard)));
  }
  std::string refusal(const BlockCopy& copy, const BlockOptions& options = {}) {
    return message_of<UsageError>([&] { transfers().copy_blocks(copy, options); });
  }
  CUdeviceptr send_index(const std::vector<std::int64_t>& index) {
    const CUdeviceptr there = device_memory(index.size() * sizeof index[0]);
    driver().call(symbol::memcpy_htod)(there, index.data(), index.size() * sizeof index[0]);
    driver().call(symbol::ctx_synchronize)();
    return there;
  }
  /// The same copy with indices on the device.
  BlockCopy with_device_indices(BlockCopy copy) {
    copy.target_index.data = to_pointer(send_index(targets_));
    copy.source_index.data = to_pointer(send_index(sources_));
    return copy;
  }
  BlockOptions by_way(std::string_view way) {
    BlockOptions options;
    options.stream = reinterpret_cast<std::uintptr_t>(stream());
    options.way = way;
    return options;
  }

  Shape shape_;
  std::uint8_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
  std::vector<std::int64_t> targets_;
  std::vector<std::int64_t> sources_;

private:
  std::vector<BlockPool> host_pools_;
  std::vector<BlockPool> device_pools_;
};

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

TEST_F(Blocks, OfWholeWordsArriveByBulkCopies) {
  if (retained().device().compute_capability < std::pair(9, 0)) GTEST_SKIP() << "before sm_90";
  for (const std::size_t block_bytes : {16, 4096, 16384, 16400, 70000}) {
    make({block_bytes, 32, 3});
    expect_up_and_down(by_way("bulk"));
  }
  make({100});
  EXPECT_TRUE(says(message_of<Unavailable>([&] { transfers().copy_blocks(up(), by_way("bulk")); }),
                   "16 bytes"));
}

TEST_F(Blocks, OfMoreLayersThanALaunchTakesArrive) {
  make({256, 0, 2 * KernelBlocks::kMaxLayers + 3, 7});
  expect_up_and_down();
}

TEST_F(Blocks, ByIndicesOnTheDeviceArriveInTheOrderOfTheStream) {
  make({1000, 24});
  const Bytes sent = pattern(shape_.bytes(), 5);
  std::ranges::copy(sent, host_);
  fill(device_, shape_.bytes(), kGuard);
  const BlockCopy copy = with_device_indices(up());
  isthmus::contract::Gate held = gate();
  const BlockOptions options = by_way("");
  held.hold(reinterpret_cast<CUstream>(options.stream));
  CopyFuture future = transfers().copy_blocks(copy, options);
  EXPECT_FALSE(future.ready());
  held.open();
  future.wait();
  EXPECT_EQ(on_device(device_, shape_.bytes()), expected(sent, Bytes(sent.size(), kGuard)));
  EXPECT_EQ(transfers().explain_blocks(copy, options).num_copies, 20u);
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
  EXPECT_EQ(transfers()
                .explain_blocks([&] {
                  BlockCopy copy = up();
                  copy.sources = pageable;
                  return copy;
                }())
                .way,
            "staged");
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
    transfers().copy_blocks(copy).wait();
    EXPECT_TRUE(
        says(message_of<UsageError>([&] { transfers().check_blocks(); }), "source_index[7]"));
    transfers().check_blocks();  // it is told once
    sources_ = good;
    Bytes all = expected(sent, Bytes(sent.size(), kGuard));
    for (std::size_t layer = 0; layer < 2; ++layer)
      std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(layer * shape_.layer_bytes()) +
                      targets_[7] * 4096,
                  4096, kGuard);
    EXPECT_EQ(on_device(device_, shape_.bytes()), all);
    targets_[2] += 1000;
    transfers().copy_blocks(with_device_indices(up())).wait();
    targets_[2] -= 1000;
    EXPECT_TRUE(says(refusal(up()), "target_index[2]")) << "the next call tells it, too";
  }
}

TEST_F(Blocks, AreRepeatedByAGraphWithTheIndicesOfThatMoment) {
  make({4096});
  const Bytes sent = pattern(shape_.bytes(), 9);
  std::ranges::copy(sent, host_);
  fill(device_, shape_.bytes(), kGuard);
  const BlockCopy copy = with_device_indices(up());
  const PreparedCopy prepared = transfers().prepare_blocks(up());
  const CUstream own = stream();
  const auto handle = reinterpret_cast<std::uintptr_t>(own);
  BlockOptions options;
  options.stream = handle;
  driver().call(symbol::stream_begin_capture)(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
  transfers().copy_blocks(copy, options).wait();
  prepared.run(handle).wait();
  EXPECT_TRUE(says(refusal(up(), options), "a graph doesn't repeat"));
  CUgraph graph = nullptr;
  driver().call(symbol::stream_end_capture)(own, &graph);
  CUgraphExec executable = nullptr;
  driver().call(symbol::graph_instantiate)(&executable, graph, 0ULL);
  EXPECT_EQ(on_device(device_, shape_.bytes()), Bytes(shape_.bytes(), kGuard));
  Bytes there = expected(sent, Bytes(shape_.bytes(), kGuard));
  std::ranges::reverse(sources_);
  there = expected(sent, there);
  driver().call(symbol::memcpy_htod)(reinterpret_cast<CUdeviceptr>(copy.source_index.data),
                                     sources_.data(), sources_.size() * sizeof sources_[0]);
  driver().call(symbol::graph_launch)(executable, own);
  synchronize(own);
  std::ranges::reverse(sources_);  // the plan has its own
  EXPECT_EQ(on_device(device_, shape_.bytes()), expected(sent, there));
  driver().call(symbol::graph_exec_destroy)(executable);
  driver().call(symbol::graph_destroy)(graph);
}

TEST_F(Blocks, PreparedOnceMoveWhatThePoolsHoldAtEachRun) {
  make({512, 0, 1});
  for (const std::string_view way : {"kernel", "batch", "staged"}) {
    const PreparedCopy prepared = transfers().prepare_blocks(up(), by_way(way));
    EXPECT_EQ(prepared.explain().way, way);
    for (unsigned seed = 1; seed < 4; ++seed) {
      const Bytes sent = pattern(shape_.bytes(), seed);
      std::ranges::copy(sent, host_);
      fill(device_, shape_.bytes(), kGuard);
      prepared.run().wait();
      EXPECT_EQ(on_device(device_, shape_.bytes()), expected(sent, Bytes(sent.size(), kGuard)));
    }
  }
}

TEST_F(Blocks, OfAPoolThatWasFreedAreRefusedAtTheNextRun) {
  make({512});
  CUdeviceptr freed = 0;
  driver().call(symbol::mem_alloc)(&freed, 64 * kMiB);
  const BlockPool pool{to_pointer(freed), kCount, 0};
  BlockCopy copy = up();
  copy.targets = {&pool, 1};
  const PreparedCopy prepared = transfers().prepare_blocks(copy);
  prepared.run().wait();
  driver().call(symbol::mem_free)(freed);
  EXPECT_TRUE(says(message_of<UsageError>([&] { prepared.run(); }), "was freed"));
  EXPECT_TRUE(says(refusal(copy), "target"));
}

TEST_F(Blocks, LongRunsOfThemAreABatchOfFewCopies) {
  make({64 * kKiB, 0, 1, 40});
  for (std::size_t i = 0; i < 40; ++i) {
    targets_[i] = static_cast<std::int64_t>(i);
    sources_[i] = static_cast<std::int64_t>(i + 5);
  }
  EXPECT_EQ(transfers().explain_blocks(up(), by_way("")).way, "batch");
  expect_up_and_down(by_way(""));
  BlockOptions urgent = by_way("");
  urgent.priority = BlockPriority::urgent;
  EXPECT_NE(transfers().explain_blocks(up(), urgent).way, "batch");
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
  EXPECT_TRUE(says(refusal(up(), by_way("sideways")), "batch, bulk, kernel and staged"));
}

TEST_F(Blocks, OfPageablePoolsAreRefusedInACapture) {
  make({512});
  Bytes pageable(shape_.bytes());
  const std::vector<BlockPool> host = pools(pageable.data());
  BlockCopy copy = up();
  copy.sources = host;
  const CUstream own = stream();
  GlobalCapture capture(driver(), own);
  BlockOptions options;
  options.stream = reinterpret_cast<std::uintptr_t>(own);
  EXPECT_TRUE(says(refusal(copy, options), "can't be captured"));
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
}

TEST_F(Blocks, WhoseDriverFailsSaySoAndLeaveNothingInUse) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  make({4096, 0, KernelBlocks::kMaxLayers + 1, 5});
  const isthmus::test::EmulatorControls emulator(driver());
  for (const std::string_view way : {"kernel", "bulk", "batch"})
    for (const bool kept : {false, true}) {
      const BlockOptions options = by_way(way);
      const auto run = [&] {
        if (!kept) return transfers().copy_blocks(up(), options).wait();
        transfers().prepare_blocks(up(), options).run(options.stream).wait();
      };
      run();
      emulator.log_calls(1);
      run();
      emulator.log_calls(0);
      const std::map<std::string, int> calls = isthmus::test::counts_of_calls(emulator.call_log());
      drop_transfers();
      const IsthmusEmulatorLive before = emulator.live();
      int num_thrown = 0;
      for (const auto& [symbol, count] : calls)
        for (int nth = 1; nth <= count; ++nth) {
          if (symbol == "cuCtxPopCurrent" || symbol == "cuMemFree" || symbol == "cuEventDestroy")
            continue;
          SCOPED_TRACE(std::string(way) + " " + symbol + " " + std::to_string(nth));
          make_transfers();
          run();
          emulator.fail_call(symbol.c_str(), nth, CUDA_ERROR_ILLEGAL_ADDRESS);
          try {
            run();
          } catch (const DriverError& error) {
            EXPECT_EQ(error.code(), CUDA_ERROR_ILLEGAL_ADDRESS);
            // Only a wait that fails can't say whether the copy has ended.
            EXPECT_TRUE(!error.memory_in_use() || symbol == "cuEventSynchronize" ||
                        symbol == "cuCtxPushCurrent");
            ++num_thrown;
          }
          emulator.reset();
          run();  // nothing stays broken
          drop_transfers();
          EXPECT_EQ(emulator.live(), before);
        }
      make_transfers();
      EXPECT_GT(num_thrown, 3);
    }
}

TEST_F(Blocks, AsPiecesBetweenAddressesArrive) {
  make({8192});
  const Bytes sent = pattern(shape_.bytes(), 4);
  std::ranges::copy(sent, host_);
  fill(device_, shape_.bytes(), kGuard);
  Bytes there(shape_.bytes(), kGuard);
  std::vector<std::uint64_t> targets;
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> sizes;
  std::size_t used = 0;
  for (const std::size_t size_bytes : {0, 1, 4, 15, 17, 511, 512, 4097, 70000}) {
    for (const std::size_t shift : {0, 1, 8}) {
      targets.push_back(device_ + used);
      sources.push_back(reinterpret_cast<std::uint64_t>(host_) + used + shift);
      sizes.push_back(size_bytes);
      std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(used + shift), size_bytes,
                  there.begin() + static_cast<std::ptrdiff_t>(used));
      used = (used + size_bytes + 31) / 16 * 16;
    }
  }
  ASSERT_LT(used, shape_.bytes());
  const CopyPieces pieces{targets.data(), sources.data(), sizes.data(), sizes.size()};
  transfers().copy_pieces(pieces).wait();
  EXPECT_EQ(on_device(device_, shape_.bytes()), there);
  sizes.back() = shape_.bytes();
  EXPECT_TRUE(says(message_of<UsageError>([&] { transfers().copy_pieces(pieces); }),
                   "bytes from its address on"));
}

TEST_F(Blocks, ManyCopiesArePreparedAsOneLaunchOrAsTheyAre) {
  make({4096});
  const Bytes sent = pattern(shape_.bytes(), 4);
  std::ranges::copy(sent, host_);
  Bytes pageable = sent;
  for (std::uint8_t* const host : {host_, pageable.data()}) {
    fill(device_, shape_.bytes(), kGuard);
    std::vector<ManyCopy> copies;
    for (std::size_t i = 0; i < kCount; ++i)
      copies.push_back({to_pointer(device_ + i * 4096), host + i * 4096, 4000});
    const PreparedCopy prepared = transfers().prepare_many(copies);
    EXPECT_EQ(prepared.explain().way, host == host_ ? "kernel" : "staged");
    prepared.run().wait();
    prepared.run().wait();
    const Bytes there = on_device(device_, shape_.bytes());
    EXPECT_TRUE(std::equal(there.begin(), there.begin() + 4000, sent.begin()));
    EXPECT_EQ(there[4000], kGuard);
    copies[1].target = to_pointer(device_ + 100);
    EXPECT_TRUE(says(message_of<UsageError>([&] { transfers().prepare_many(copies); }),
                     "overlaps the target"));
  }
}

}  // namespace
}  // namespace isthmus::transfer

// Copies of blocks that are prepared, captured, or fail; pieces between addresses.
#include <map>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/blocks_under_test.hpp"

namespace isthmus::transfer {
namespace {

using PreparedBlocks = BlocksUnderTest;

TEST_F(PreparedBlocks, AreRepeatedByAGraphWithTheIndicesOfThatMoment) {
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

TEST_F(PreparedBlocks, WithAWrongIndexInAGraphAreToldOfByTheNextRunOrByChecking) {
  make({4096});
  sources_[4] = kCount;
  const BlockCopy copy = with_device_indices(up());
  const PreparedCopy prepared = transfers().prepare_blocks(copy);
  const CUstream own = stream();
  BlockOptions options;
  options.stream = reinterpret_cast<std::uintptr_t>(own);
  for (const bool kept : {true, false}) {
    driver().call(symbol::stream_begin_capture)(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (kept)
      prepared.run(options.stream).wait();
    else
      transfers().copy_blocks(copy, options).wait();
    CUgraph graph = nullptr;
    driver().call(symbol::stream_end_capture)(own, &graph);
    CUgraphExec executable = nullptr;
    driver().call(symbol::graph_instantiate)(&executable, graph, 0ULL);
    driver().call(symbol::graph_launch)(executable, own);
    synchronize(own);
    const std::string told = message_of<UsageError>([&] {
      if (kept) prepared.run();
      transfers().check_blocks();
    });
    EXPECT_TRUE(says(told, "source_index[4]")) << told;
    transfers().check_blocks();
    driver().call(symbol::graph_exec_destroy)(executable);
    driver().call(symbol::graph_destroy)(graph);
  }
}

TEST_F(PreparedBlocks, PreparedOnceMoveWhatThePoolsHoldAtEachRun) {
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

TEST_F(PreparedBlocks, OfAPoolThatWasFreedAreRefusedAtTheNextRun) {
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

TEST_F(PreparedBlocks, OfPageablePoolsAreRefusedInACapture) {
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

TEST_F(PreparedBlocks, WhoseDriverFailsSaySoAndLeaveNothingInUse) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  make({4096, 0, kIsthmusLayers + 1, 5});
  const isthmus::test::EmulatorControls emulator(driver());
  for (const std::string_view way : {"kernel", "batch"})
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

TEST_F(PreparedBlocks, AsPiecesBetweenAddressesArrive) {
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

TEST_F(PreparedBlocks, ManyCopiesArePreparedAsOneLaunchOrAsTheyAre) {
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

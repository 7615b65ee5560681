// Blocks that are freed in stream order, and captured streams.
#include <vector>

#include "transfer/pinned_memory_under_test.hpp"

namespace isthmus::transfer {
namespace {

class StreamOrder : public PinnedMemoryUnderTest {
protected:
  static std::uintptr_t handle(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream); }

  /// A pool whose only memory is one block of `size_bytes`: any further allocation is refused.
  PinnedPool pool_of_one(std::size_t size_bytes) {
    PinnedPoolOptions options;
    options.region_bytes = 2 * kMiB;
    options.max_bytes = size_bytes;
    return pool(options);
  }
  CUgraph end_capture(CUstream captured, CUresult expected = CUDA_SUCCESS) {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver().raw(symbol::stream_end_capture)(captured, &graph), expected);
    return graph;
  }
  void begin_capture(CUstream captured) {
    driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
};

TEST_F(StreamOrder, GivesABlockToTheSameStreamAtOnce) {
  PinnedPool memory = pool_of_one(4 * kMiB);
  const CUstream work = stream();
  contract::Gate closed = gate();
  closed.hold(work);
  void* block = memory.allocate(4 * kMiB);
  memory.free(block, handle(work));
  EXPECT_EQ(memory.stats().pending_bytes, 4 * kMiB);
  EXPECT_EQ(memory.allocate(4 * kMiB, handle(work)), block);
  EXPECT_EQ(memory.stats().pending_bytes, 0u);
  EXPECT_EQ(memory.stats().used_bytes, 4 * kMiB);
}

TEST_F(StreamOrder, GivesABlockToAnotherStreamOnlyWhenTheWorkIsDone) {
  PinnedPool memory = pool_of_one(4 * kMiB);
  const CUstream work = stream();
  const CUstream other = stream();
  contract::Gate closed = gate();
  closed.hold(work);
  void* block = memory.allocate(4 * kMiB);
  memory.free(block, handle(work));
  EXPECT_THROW(memory.allocate(4 * kMiB, handle(other)), Unavailable);
  EXPECT_THROW(memory.allocate(4 * kMiB), Unavailable) << "the CPU is no stream";
  closed.open();
  synchronize(work);
  EXPECT_EQ(memory.allocate(4 * kMiB, handle(other)), block);
}

TEST_F(StreamOrder, HoldsForSmallBlocksToo) {
  PinnedPool memory = pool();
  const CUstream work = stream();
  contract::Gate closed = gate();
  closed.hold(work);
  void* block = memory.allocate(1000);
  memory.free(block, handle(work));
  void* elsewhere = memory.allocate(1000);
  EXPECT_NE(elsewhere, block);
  EXPECT_EQ(memory.allocate(1020, handle(work)), block) << "of the same class";
}

TEST_F(StreamOrder, JoinsBlocksOnceTheyAreComplete) {
  PinnedPoolOptions options;
  options.region_bytes = 4 * kMiB;
  options.max_bytes = 4 * kMiB;
  PinnedPool memory = pool(options);
  const CUstream work = stream();
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(memory.allocate(kMiB));
  for (void* block : blocks) memory.free(block, handle(work));
  synchronize(work);
  EXPECT_NO_THROW(memory.allocate(4 * kMiB));
}

TEST_F(StreamOrder, KnowsANewStreamFromADestroyedOneWithTheSameHandle) {
  PinnedPool memory = pool_of_one(4 * kMiB);
  contract::Gate closed = gate();
  CUstream first = nullptr;
  driver().call(symbol::stream_create)(&first, unsigned{CU_STREAM_NON_BLOCKING});
  closed.hold(first);
  memory.free(memory.allocate(4 * kMiB), handle(first));
  driver().call(symbol::stream_destroy)(first);
  for (int i = 0; i < 8; ++i) {
    EXPECT_THROW(memory.allocate(4 * kMiB, handle(stream())), Unavailable);
  }
  closed.open();
}

TEST_F(StreamOrder, TakesBothNamesOfTheDefaultStreamForOne) {
  PinnedPool memory = pool_of_one(4 * kMiB);
  const CUstream blocking = stream(CU_STREAM_DEFAULT);
  contract::Gate closed = gate();
  closed.hold(blocking);
  void* block = memory.allocate(4 * kMiB);
  memory.free(block, 0);
  EXPECT_EQ(memory.stats().pending_bytes, 4 * kMiB) << "it waits for blocking streams";
  EXPECT_EQ(memory.allocate(4 * kMiB, handle(CU_STREAM_LEGACY)), block);
}

TEST_F(StreamOrder, ReusesItsEvents) {
  if (!emulated()) GTEST_SKIP() << "counts what only the emulated driver tells";
  PinnedPool memory = pool();
  const CUstream work = stream();
  memory.free(memory.allocate(1000), handle(work));
  synchronize(work);
  memory.free(memory.allocate(1000), handle(work));
  const std::size_t before = controls().live().events;
  for (int i = 0; i < 1000; ++i) {
    memory.free(memory.allocate(1000 + static_cast<std::size_t>(i)), handle(work));
    synchronize(work);
  }
  EXPECT_LE(controls().live().events, before + 2);
}

TEST_F(StreamOrder, ABlockStaysInUseIfItsStreamIsNone) {
  PinnedPool memory = pool();
  CUstream gone = nullptr;
  driver().call(symbol::stream_create)(&gone, unsigned{CU_STREAM_NON_BLOCKING});
  if (!emulated()) GTEST_SKIP() << "a real driver may crash on a destroyed stream";
  driver().call(symbol::stream_destroy)(gone);
  void* block = memory.allocate(1000);
  EXPECT_THROW(memory.free(block, handle(gone)), UsageError);
  EXPECT_EQ(memory.stats().requested_bytes, 1000u);
  EXPECT_EQ(memory.stats().pending_bytes, 0u);
  EXPECT_NO_THROW(memory.free(block));
}

TEST_F(StreamOrder, ABlockStaysInUseWhicheverCallOfItsFreeFails) {
  if (!emulated()) GTEST_SKIP() << "makes calls fail";
  PinnedPool memory = pool();
  const CUstream work = stream();
  for (const char* symbol : {"cuStreamIsCapturing", "cuStreamGetId", "cuEventCreate",
                             "cuEventRecord", "cuCtxPushCurrent"}) {
    void* block = memory.allocate(1000);
    controls().fail_call(symbol, 1, CUDA_ERROR_UNKNOWN);
    EXPECT_THROW(memory.free(block, handle(work)), DriverError) << symbol;
    controls().reset();
    EXPECT_EQ(memory.stats().requested_bytes, 1000u) << symbol;
    memory.free(block);
    EXPECT_EQ(memory.stats().used_bytes, 0u) << symbol;
  }
}

TEST_F(StreamOrder, NothingIsCompleteWhenTheDriverCannotSay) {
  if (!emulated()) GTEST_SKIP() << "makes calls fail";
  PinnedPool memory = pool_of_one(4 * kMiB);
  const CUstream work = stream();
  contract::Gate closed = gate();
  closed.hold(work);
  memory.free(memory.allocate(4 * kMiB), handle(work));
  for (int nth = 1; nth <= 2; ++nth) {
    controls().fail_call("cuEventQuery", nth, CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  EXPECT_THROW(memory.allocate(4 * kMiB), Unavailable);
}

TEST_F(StreamOrder, DoesNothingThatACaptureForbids) {
  PinnedPool memory = pool();
  const CUstream captured = stream();
  const CUstream work = stream();
  memory.free(memory.allocate(1000), handle(work));
  begin_capture(captured);
  void* first = memory.allocate(1000, handle(captured));
  void* large = memory.allocate(70 * kMiB);  // pinned from now on
  memory.free(first, handle(captured));
  memory.free(memory.allocate(2000), handle(work));  // records an event, and checks others
  memory.free(large);
  memory.trim();
  driver().call(symbol::graph_destroy)(end_capture(captured));
}

TEST_F(StreamOrder, NeverGivesOutWhatACapturedStreamUsesUntilItIsTrimmed) {
  PinnedPool memory = pool_of_one(4 * kMiB);
  const CUstream captured = stream();
  void* block = memory.allocate(4 * kMiB);
  begin_capture(captured);
  memory.free(block, handle(captured));
  EXPECT_THROW(memory.allocate(4 * kMiB, handle(captured)), Unavailable);
  EXPECT_EQ(memory.stats().pending_bytes, 4 * kMiB);
  const CUgraph graph = end_capture(captured);
  synchronize(captured);
  EXPECT_THROW(memory.allocate(4 * kMiB, handle(captured)), Unavailable) << "it may be launched";
  EXPECT_THROW(memory.allocate(4 * kMiB), Unavailable);
  driver().call(symbol::graph_destroy)(graph);
  memory.trim();
  EXPECT_EQ(memory.stats().pending_bytes, 0u);
  EXPECT_NO_THROW(memory.allocate(4 * kMiB));
}

TEST_F(StreamOrder, KeepsWhatIsFreedInTheDefaultStreamDuringACaptureThatItWaitsFor) {
  PinnedPool memory = pool();
  const CUstream captured = stream(CU_STREAM_DEFAULT);
  void* block = memory.allocate(1000);
  begin_capture(captured);
  EXPECT_NO_THROW(memory.free(block, 0));
  EXPECT_NE(memory.allocate(1000), block);
  driver().call(symbol::graph_destroy)(end_capture(captured));
}

TEST_F(StreamOrder, WaitsForTheWorkBeforeThePoolGoes) {
  const CUstream work = stream();
  const CUdeviceptr device = device_memory(4 * kMiB);
  const auto bytes = pattern(4 * kMiB, 9);
  {
    PinnedPool memory = pool();
    auto* block = static_cast<std::uint8_t*>(memory.allocate(4 * kMiB));
    std::copy(bytes.begin(), bytes.end(), block);
    driver().call(symbol::memcpy_htod_async)(device, block, bytes.size(), work);
    memory.free(block, handle(work));
  }
  EXPECT_EQ(query(work), CUDA_SUCCESS);
  std::vector<std::uint8_t> back(bytes.size());
  driver().call(symbol::memcpy_dtoh)(back.data(), device, back.size());
  EXPECT_EQ(back, bytes);
}

}  // namespace
}  // namespace isthmus::transfer

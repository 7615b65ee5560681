// Pinned regions: a region is pinned as a whole, and a failure leaves nothing.
#include "transfer/pinned/pinned_region.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>

#include "driver/child_process.hpp"
#include "host/memory/memory_limits.hpp"
#include "transfer/pinned/pin_failures.hpp"
#include "transfer/pinned_memory_under_test.hpp"

namespace isthmus::transfer {
namespace {

class Region : public PinnedMemoryUnderTest {
protected:
  std::size_t num_registered() const { return controls().live().registered_ranges; }
  static PinOptions in_pieces_of(std::size_t piece_bytes) {
    PinOptions options;
    options.max_piece_bytes = piece_bytes;
    return options;
  }
};

TEST_F(Region, IsPinnedWholeAndRoundedUpToPages) {
  for (const std::size_t size_bytes : {std::size_t{1}, 4 * kKiB, 2 * kMiB, 9 * kMiB + 1}) {
    const PinnedRegion region(retained(), size_bytes);
    EXPECT_GE(region.size_bytes(), size_bytes);
    EXPECT_LT(region.size_bytes(), size_bytes + 4 * kKiB);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.data()) % (2 * kMiB), 0u);
    for (const std::size_t offset : {std::size_t{0}, region.size_bytes() - 1}) {
      unsigned type = 0;
      driver().call(symbol::pointer_get_attribute)(
          &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
          reinterpret_cast<CUdeviceptr>(region.data() + offset));
      EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
    }
  }
}

TEST_F(Region, CanBeCopiedFromAndToInOneCall) {
  const std::size_t size_bytes = 5 * kMiB + 4 * kKiB;
  const PinnedRegion source(retained(), size_bytes);
  const PinnedRegion target(retained(), size_bytes);
  const auto bytes = pattern(size_bytes, 3);
  std::memcpy(source.data(), bytes.data(), size_bytes);
  const CUdeviceptr device = device_memory(size_bytes);
  const CUstream work = stream();
  driver().call(symbol::memcpy_htod_async)(device, source.data(), size_bytes, work);
  driver().call(symbol::memcpy_dtoh_async)(target.data(), device, size_bytes, work);
  synchronize(work);
  EXPECT_EQ(std::memcmp(target.data(), bytes.data(), size_bytes), 0);
}

TEST_F(Region, ReportsTheTimeOfEachStep) {
  const PinnedRegion region(retained(), 32 * kMiB);
  const PinCosts& costs = region.costs();
  EXPECT_GT(costs.touch_seconds, 0);
  EXPECT_GT(costs.register_seconds, 0);
  EXPECT_GE(costs.total_seconds, costs.register_seconds);
}

TEST_F(Region, OfNoBytesIsAUsageError) { EXPECT_THROW(PinnedRegion(retained(), 0), UsageError); }

TEST_F(Region, RefusesPiecesThatAreNoMultipleOfAHugePage) {
  for (const std::size_t piece_bytes : {std::size_t{0}, kMiB, 3 * kMiB}) {
    EXPECT_THROW(PinnedRegion(retained(), kMiB, in_pieces_of(piece_bytes)), UsageError);
  }
}

TEST_F(Region, RefusesANodeThatIsNone) {
  PinOptions options;
  options.numa_node = 999;
  EXPECT_THROW(PinnedRegion(retained(), kMiB, options), UsageError);
}

TEST_F(Region, IsRegisteredInPiecesAndUnregisteredWhole) {
  if (!emulated()) GTEST_SKIP() << "counts what only the emulated driver tells";
  const std::size_t before = num_registered();
  {
    const PinnedRegion region(retained(), 9 * kMiB, in_pieces_of(2 * kMiB));
    EXPECT_EQ(num_registered(), before + 5);
  }
  EXPECT_EQ(num_registered(), before);
}

TEST_F(Region, UpToAGibibyteIsOneRegistration) {
  if (!emulated()) GTEST_SKIP() << "counts what only the emulated driver tells";
  const std::size_t before = num_registered();
  const PinnedRegion region(retained(), 96 * kMiB);
  EXPECT_EQ(num_registered(), before + 1) << "a driver's copy must not cross registrations";
}

TEST_F(Region, IsRolledBackWholeWhicheverPieceIsRefused) {
  if (!emulated()) GTEST_SKIP() << "makes calls fail";
  const std::size_t before = num_registered();
  for (int nth = 1; nth <= 5; ++nth) {
    controls().fail_call("cuMemHostRegister", nth, CUDA_ERROR_INVALID_VALUE);
    EXPECT_THROW(PinnedRegion(retained(), 9 * kMiB, in_pieces_of(2 * kMiB)), DriverError);
    EXPECT_EQ(num_registered(), before) << "after piece " << nth << " was refused";
    controls().reset();
  }
  EXPECT_NO_THROW(PinnedRegion(retained(), 9 * kMiB, in_pieces_of(2 * kMiB)));
}

TEST_F(Region, IsRolledBackWholeWheneverItIsInterrupted) {
  const std::size_t before = emulated() ? num_registered() : 0;
  for (int max_questions = 0; max_questions < 5; ++max_questions) {
    PinOptions options = in_pieces_of(2 * kMiB);
    int num_questions = 0;
    options.interrupted = [&] { return num_questions++ == max_questions; };
    EXPECT_THROW(PinnedRegion(retained(), 9 * kMiB, options), Interrupted);
    EXPECT_EQ(num_questions, max_questions + 1);
    if (emulated()) {
      EXPECT_EQ(num_registered(), before);
    }
  }
}

TEST_F(Region, AnExceptionOfTheCallersQuestionLeavesNothing) {
  PinOptions options = in_pieces_of(2 * kMiB);
  int num_questions = 0;
  options.interrupted = [&]() -> bool {
    if (num_questions++ == 2) throw std::out_of_range("the caller's own");
    return false;
  };
  const std::size_t before = emulated() ? num_registered() : 0;
  EXPECT_THROW(PinnedRegion(retained(), 9 * kMiB, options), std::out_of_range);
  if (emulated()) {
    EXPECT_EQ(num_registered(), before);
  }
}

TEST_F(Region, BeyondTheMemoryThatIsLeftIsUnavailableByName) {
  const std::string message =
      message_of<Unavailable>([] { PinnedRegion(retained(), std::size_t{1} << 50U); });
  EXPECT_TRUE(says(message, "are left")) << message;
}

TEST_F(Region, NamesTheMemoryOfTheCgroupIfThatIsTheLimit) {
  host::MemoryLimits limits;
  limits.total_bytes = 64 * kMiB;
  limits.available_bytes = 10 * kMiB;
  limits.cgroup_limit_bytes = 32 * kMiB;
  EXPECT_NO_THROW(require_room_to_pin(10 * kMiB, limits));
  const std::string message =
      message_of<Unavailable>([&] { require_room_to_pin(10 * kMiB + 1, limits); });
  EXPECT_TRUE(says(message, "cgroup's memory limit is 33554432 bytes")) << message;
  EXPECT_TRUE(says(message, "10485760 bytes are left")) << message;
}

TEST_F(Region, NamesAMemlockLimitThatIsFull) {
  if (!emulated()) GTEST_SKIP() << "makes a call fail as a driver would that counts locked memory";
  const auto names_limit = [] {
    const rlimit limit{64 * kKiB, 64 * kKiB};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
    const std::string message = message_of<Unavailable>(
        [] { throw_pin_failure(driver(), CUDA_ERROR_OUT_OF_MEMORY, kMiB, host::memory_limits()); });
    return says(message, "RLIMIT_MEMLOCK is 65536 bytes") && says(message, "ulimit -l") &&
           says(message, "CUDA_ERROR_OUT_OF_MEMORY");
  };
  EXPECT_TRUE(holds_in_child(names_limit));
}

TEST_F(Region, OtherFailuresAreTheDriversErrors) {
  EXPECT_THROW(throw_pin_failure(driver(), CUDA_ERROR_ILLEGAL_ADDRESS, kMiB, host::memory_limits()),
               DriverError);
}

TEST_F(Region, MovesWithItsMemory) {
  PinnedRegion first(retained(), kMiB);
  std::byte* const data = first.data();
  PinnedRegion second(std::move(first));
  EXPECT_EQ(second.data(), data);
  PinnedRegion third(retained(), 2 * kMiB);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
}

TEST_F(Region, IsNotInAForkedChildAndStaysInTheParent) {
  std::optional<PinnedRegion> region(std::in_place, retained(), 4 * kMiB);
  std::memset(region->data(), 7, region->size_bytes());
  const std::size_t before = emulated() ? num_registered() : 0;
  EXPECT_TRUE(holds_in_child([&] {
    unsigned char residency = 0;
    if (mincore(region->data(), 4 * kKiB, &residency) == 0) return false;
    region.reset();
    return true;
  }));
  if (emulated()) {
    EXPECT_EQ(num_registered(), before);
  }
  EXPECT_EQ(region->data()[4 * kMiB - 1], std::byte{7});
}

TEST_F(Region, CanBePinnedWhileAStreamIsCaptured) {
  const CUstream captured = stream();
  driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_NO_THROW(PinnedRegion(retained(), kMiB));
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().raw(symbol::stream_end_capture)(captured, &graph), CUDA_SUCCESS);
  driver().call(symbol::graph_destroy)(graph);
}

}  // namespace
}  // namespace isthmus::transfer

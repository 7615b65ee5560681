// Everything except copies between two buffers, with every system and driver call failing once:
// pinned memory, windows, files, plans, and copies that are kept until they have ended.
#include <functional>
#include <memory>
#include <optional>

#include <isthmus/errors.hpp>
#include <isthmus/pinned.hpp>

#include <sys/mman.h>

#include "faults.hpp"
#include "paged/paged_file.hpp"
#include "transfer/copy/copy_keeper.hpp"
#include "transfer/random_file.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

using isthmus::test::ArmedFault;
using isthmus::test::Fault;
using isthmus::test::Possessions;
using isthmus::test::sweeps_ring;

constexpr std::size_t kBytes = 70 * kKiB + 3;
constexpr int kMaxCalls = 2000;

/// What the operations work on.
struct Workplace {
  const Driver& driver;
  CUdeviceptr device;
  CUstream stream;
  const Bytes& bytes;  // in `device`, kBytes
  const isthmus::test::RandomFile& file;
};

/// Creates something, uses it, and releases it. Checks what it can.
struct Operation {
  const char* name;
  void (*run)(const Workplace&);
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << operation.name;
}

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

void pin_a_block(const Workplace& place) {
  PinnedPoolOptions options;
  options.region_bytes = std::size_t{2} << 20U;
  PinnedPool pool(place.driver, 0, options);
  void* const block = pool.allocate(kBytes);
  std::memset(block, 7, kBytes);
  pool.free(block);
  pool.trim();
}

void pin_a_block_in_a_stream(const Workplace& place) {
  PinnedPoolOptions options;
  options.region_bytes = std::size_t{2} << 20U;
  PinnedPool pool(place.driver, 0, options);
  void* const block = pool.allocate(kBytes);
  try {
    pool.free(block, reinterpret_cast<std::uintptr_t>(place.stream));
  } catch (...) {
    pool.free(block);
    throw;
  }
  pool.trim();
}

void use_a_window(const Workplace& place, int num_threads) {
  Windows windows(place.driver);
  WindowOptions options;
  options.num_threads = num_threads;
  Window window = windows.open(place.device, kBytes, options);
  Bytes found(kBytes);
  window.read(found.data(), 0, kBytes);
  EXPECT_EQ(found, place.bytes);
  window.write(0, place.bytes.data(), kBytes);
}

void copy_a_file(const Workplace& place) {
  Transfers transfers = transfers_with_ring(Windows(place.driver), sweeps_ring());
  const CUdeviceptr target = place.device + kBytes;
  transfers.copy_file(at(target), place.file.descriptor(), 5, kBytes);
  Bytes found(kBytes);
  place.driver.call(symbol::memcpy_dtoh)(static_cast<void*>(found.data()), target, kBytes);
  EXPECT_EQ(std::memcmp(found.data(), place.file.bytes().data() + 5, kBytes), 0);
}

/// Opens, loads and writes a part, as a paged array of a file does.
void use_a_paged_file(const Workplace& place) {
  const std::string path = "/proc/self/fd/" + std::to_string(place.file.descriptor());
  void* const mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, place.file.descriptor(), 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto unmap = [](void* pages) { munmap(pages, kBytes); };
  const std::unique_ptr<void, decltype(unmap)> mapping(mapped, unmap);
  const PagedFile file(path, mapped, kBytes, false);
  std::vector<std::byte> memory(kBytes + 2 * PagedFile::kBlockBytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* const items = memory.data() + (0 - address) % PagedFile::kBlockBytes;
  file.load(items, [] { return false; });
  EXPECT_EQ(std::memcmp(items, place.file.bytes().data(), kBytes), 0);
  file.write(items, {5, kBytes});
}

void plan_a_copy(const Workplace& place) {
  Transfers transfers = transfers_with_ring(Windows(place.driver), sweeps_ring());
  EXPECT_FALSE(transfers.explain(at(place.device), place.bytes.data(), kBytes).costs.empty());
  EXPECT_FALSE(transfers.stats().empty());
  transfers.trim();
}

class NotedNeeds final : public CopyNeeds {
public:
  explicit NotedNeeds(std::shared_ptr<Bytes> target) : target_(std::move(target)) {}

private:
  std::shared_ptr<Bytes> target_;
};

/// In any case the memory is released, but not before the copy has ended.
void keep_a_copy(const Workplace& place) {
  auto keeper = std::make_unique<CopyKeeper>([](const std::string&) {});
  std::weak_ptr<Bytes> watched;
  try {
    Transfers transfers = transfers_with_ring(Windows(place.driver), sweeps_ring());
    auto target = std::make_shared<Bytes>(kBytes);
    watched = target;
    const auto copy = keeper->begin(std::make_unique<NotedNeeds>(target), [&] {
      CopyOptions options;
      options.stream = reinterpret_cast<std::uintptr_t>(place.stream);
      return transfers.copy_async(target->data(), at(place.device), kBytes, options);
    });
    EXPECT_TRUE(eventually([&] { return keeper->ask_waiting(copy); }));
    copy->rethrow();
    EXPECT_EQ(*target, place.bytes);
  } catch (...) {
    EXPECT_TRUE(keeper->end(std::chrono::seconds(20)));
    EXPECT_TRUE(watched.expired());
    throw;
  }
  EXPECT_TRUE(keeper->end(std::chrono::seconds(20)));
  EXPECT_TRUE(watched.expired());
}

constexpr Operation kOperations[] = {
    {"pinned_block", pin_a_block},
    {"pinned_block_of_a_stream", pin_a_block_in_a_stream},
    {"window", [](const Workplace& place) { use_a_window(place, 1); }},
    {"window_of_threads", [](const Workplace& place) { use_a_window(place, 4); }},
    {"file", copy_a_file},
    {"paged_file", use_a_paged_file},
    {"plan", plan_a_copy},
    {"kept_copy", keep_a_copy},
};

class CallSweep : public TransfersUnderTest, public testing::WithParamInterface<Operation> {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
    drop_transfers();
    emulator_.emplace(driver());
    device_ = device_memory(2 * kBytes);
    own_ = stream();
    bytes_ = pattern(kBytes, 1);
    send_to_device(device_, bytes_);
  }
  void TearDown() override {
    if (emulator_) emulator_->reset();
    TransfersUnderTest::TearDown();
  }

  /// The message of an operation's documented error; "" if it succeeded.
  std::string ending() {
    const Workplace place{driver(), device_, own_, bytes_, file_};
    try {
      GetParam().run(place);
      return "";
    } catch (const DriverError& error) {
      EXPECT_FALSE(error.memory_in_use()) << "the driver works again: " << error.what();
      return error.what();
    } catch (const Unavailable& error) {
      return error.what();
    } catch (const std::bad_alloc& error) {
      return error.what();
    }
  }

  std::vector<Fault> all_faults() {
    std::vector<Fault> faults = isthmus::test::system_faults();
    EXPECT_EQ(ending(), "");  // what is created once in a process isn't freed
    emulator_->log_calls(1);
    EXPECT_EQ(ending(), "");
    emulator_->log_calls(0);
    for (const auto& [symbol, count] : isthmus::test::counts_of_calls(emulator_->call_log()))
      if (!isthmus::test::releases(symbol) && symbol != "cuCtxPushCurrent")
        faults.push_back({symbol, true, CUDA_ERROR_ILLEGAL_ADDRESS});
    emulator_->reset();
    return faults;
  }

  /// Returns false if there was no such call.
  bool runs_failing(const Fault& fault, int nth, const Possessions& before) {
    SCOPED_TRACE(fault.function + " call " + std::to_string(nth));
    ArmedFault armed(*emulator_, fault, nth);
    const std::string failure = ending();
    const bool failed = armed.end();
    EXPECT_TRUE(failed || failure.empty()) << failure;
    EXPECT_EQ(ending(), "") << "the next one works";
    EXPECT_TRUE(eventually([&] { return Possessions::now(*emulator_).is_no_more_than(before); }))
        << "left: " << Possessions::now(*emulator_) << "; before: " << before << "; " << failure;
    return failed;
  }

  std::optional<isthmus::test::EmulatorControls> emulator_;
  CUdeviceptr device_ = 0;
  CUstream own_ = nullptr;
  Bytes bytes_;
  const isthmus::test::RandomFile file_{kBytes + 100};
};

TEST_P(CallSweep, EndsWellOrInADocumentedErrorAndLeavesNothingBehind) {
  int num_failures = 0;
  for (const Fault& fault : all_faults()) {
    const Possessions before = Possessions::now(*emulator_);
    for (int nth = 1; nth <= kMaxCalls && runs_failing(fault, nth, before); ++nth) {
      ++num_failures;
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(num_failures, 0);
  RecordProperty("num_failures", num_failures);
}

INSTANTIATE_TEST_SUITE_P(All, CallSweep, testing::ValuesIn(kOperations),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace isthmus::transfer

// Every driver call that measuring memory makes fails once: all allocations are freed.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "emulator_controls.hpp"
#include "measure/memory/allocation_cost.hpp"

namespace isthmus {
namespace {

using namespace measure;

constexpr Stopping kShort{.min_samples = 1, .max_samples = 1, .max_seconds = 0};
constexpr int kIllegalAddress = 700;
constexpr std::size_t kSizeBytes = 128 << 10U;

struct Operation {
  const char* name;
  std::function<void(const Context&)> run;
};

std::ostream& operator<<(std::ostream& out, const Operation& operation) {
  return out << operation.name;
}

Operation allocation(const char* name, AllocationKind kind) {
  return {name, [kind](const Context& context) {
            measure_allocation(context, {kind, Touch::untouched, kSizeBytes, 3, kShort});
          }};
}

Operation copied_allocation(const char* name, AllocationKind kind) {
  return {name, [kind](const Context& context) {
            measure_allocation(context, {kind, Touch::untouched, kSizeBytes, 1, kShort, true});
          }};
}

Operation life(const char* name, HostMemory memory) {
  return {name, [memory](const Context& context) {
            MemoryLifeOptions options;
            options.memory = memory;
            options.size_bytes = kSizeBytes;
            options.stopping = kShort;
            measure_memory_life(context, nullptr, options);
          }};
}

/// A failed free can't be repeated, and a failed query may be answered otherwise.
bool throws_and_leaves_nothing(const std::string& symbol) {
  static const std::set<std::string> others{"cuMemFree",        "cuMemFreeHost",
                                            "cuMemFreeAsync",   "cuMemHostUnregister",
                                            "cuArrayDestroy",   "cuMemUnmap",
                                            "cuMemAddressFree", "cuMemRelease",
                                            "cuMemPoolTrimTo",  "cuPointerGetAttribute",
                                            "cuStreamDestroy",  "cuEventDestroy",
                                            "cuCtxPopCurrent",  "cuGetErrorName",
                                            "cuGetErrorString", "cuDevicePrimaryCtxRelease"};
  return !others.contains(symbol);
}

class MemorySweep : public testing::TestWithParam<Operation> {
protected:
  void SetUp() override {
    // A destructor restores a pool's setting, and can report an error only here.
    old_sink_ = set_cleanup_sink([](const std::string&) {});
  }
  void TearDown() override {
    set_cleanup_sink(old_sink_);
    controls_.reset();
  }

  test::EmulatorControls controls_{test::driver()};

private:
  CleanupSink old_sink_;
};

TEST_P(MemorySweep, AnyFailingCallFreesWhatWasAllocated) {
  const Context context = test::context();
  controls_.log_calls(1);
  GetParam().run(context);
  controls_.log_calls(0);
  const auto calls = test::counts_of_calls(controls_.call_log());
  const IsthmusEmulatorLive before = controls_.live();
  int num_thrown = 0;
  for (const auto& [symbol, count] : calls) {
    if (!throws_and_leaves_nothing(symbol)) continue;
    for (const int nth : std::set<int>{1, 2, count / 2, count}) {
      if (nth < 1) continue;
      SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
      controls_.fail_call(symbol.c_str(), nth, kIllegalAddress);
      try {
        GetParam().run(context);
      } catch (const DriverError& error) {
        EXPECT_EQ(error.code(), kIllegalAddress);
        ++num_thrown;
      }
      controls_.reset();
      EXPECT_EQ(controls_.live(), before);
    }
  }
  EXPECT_GT(num_thrown, 1);
  EXPECT_NO_THROW(GetParam().run(context)) << "nothing may stay broken";
}

INSTANTIATE_TEST_SUITE_P(
    Operations, MemorySweep,
    testing::Values(allocation("pinned", AllocationKind::pinned),
                    allocation("registered", AllocationKind::registered),
                    copied_allocation("registered_heap", AllocationKind::registered_heap),
                    allocation("huge_pinned", AllocationKind::huge_pinned),
                    allocation("pooled", AllocationKind::pooled),
                    allocation("device", AllocationKind::device),
                    allocation("pitched", AllocationKind::pitched),
                    allocation("array", AllocationKind::array),
                    allocation("array_3d", AllocationKind::array_3d),
                    allocation("managed", AllocationKind::managed),
                    allocation("stream_ordered", AllocationKind::stream_ordered),
                    allocation("virtual_memory", AllocationKind::virtual_memory),
                    life("pageable_life", HostMemory::pageable),
                    life("registered_life", HostMemory::registered)),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace isthmus

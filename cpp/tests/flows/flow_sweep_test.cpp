// Every driver call that flows make fails once; then leaks are checked.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include <isthmus/errors.hpp>

#include "flows/two_gpus.hpp"

namespace isthmus::measure {
namespace {

constexpr FlowOptions kShort{.stopping = {.min_samples = 1, .max_samples = 1, .max_seconds = 0}};
constexpr std::size_t kSmallBytes = 8192;
constexpr int kIllegalAddress = 700;

class FlowSweep : public TwoGpus {
protected:
  void under_load() {
    CopyBuffers first(contexts_[0], HostMemory::pinned, kSmallBytes, std::nullopt);
    CopyBuffers second(contexts_[1], HostMemory::pinned, kSmallBytes, std::nullopt);
    const HostFlowOptions options{Direction::host_to_device, kSmallBytes, Engine::copy_engine};
    HostFlow one(first, kernels_[0].get(), options);
    HostFlow other(second, kernels_[1].get(), options);
    const std::vector<FlowUnderTest> flows{{&one, kernels_[0].get()}, {&other, kernels_[1].get()}};
    measure_under_load(flows, 1, kShort);
    measure_aggregate(flows, kShort);
  }

  void between_devices() {
    PeerFlow flow(end(0), end(1), {PeerRole::read, Engine::copy_engine, kSmallBytes});
    measure_flow({&flow, kernels_[1].get()}, kShort);
  }

  void sweep(const std::function<void()>& operation);
};

/// Calls in destructors can't throw. Without its context current, which no caller ensures here, a
/// handle can't be freed either.
bool throws(const std::string& symbol) {
  static const std::set<std::string> quiet{
      "cuStreamDestroy", "cuEventDestroy",   "cuMemFree",
      "cuMemFreeHost",   "cuCtxPushCurrent", "cuCtxPopCurrent",
      "cuGetErrorName",  "cuGetErrorString", "cuCtxDisablePeerAccess"};
  return !quiet.contains(symbol);
}

void FlowSweep::sweep(const std::function<void()>& operation) {
  controls_.log_calls(1);
  operation();  // also loads every module
  controls_.log_calls(0);
  const auto calls = test::counts_of_calls(controls_.call_log());
  const IsthmusEmulatorLive before = controls_.live();
  int num_thrown = 0;
  for (const auto& [symbol, count] : calls) {
    if (!throws(symbol)) continue;
    for (const int nth : std::set<int>{1, 2, count / 2, count}) {
      if (nth < 1 || nth > count) continue;
      SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
      controls_.fail_call(symbol.c_str(), nth, kIllegalAddress);
      try {
        operation();
      } catch (const DriverError& error) {
        EXPECT_EQ(error.code(), kIllegalAddress);
        ++num_thrown;
      }
      controls_.reset();
      EXPECT_EQ(controls_.live(), before);
    }
  }
  EXPECT_GT(num_thrown, 10);
  EXPECT_NO_THROW(operation()) << "nothing may stay broken, or held";
}

TEST_F(FlowSweep, OfGpusTogetherReportsAnyFailingCallAndHoldsNoStreamAfterwards) {
  sweep([this] { under_load(); });
}

TEST_F(FlowSweep, BetweenGpusReportsAnyFailingCallAndLeavesNoAccess) {
  sweep([this] { between_devices(); });
}

}  // namespace
}  // namespace isthmus::measure

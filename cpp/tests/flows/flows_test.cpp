// Flows between host and devices, and between devices: alone, under load, together.
#include <gtest/gtest.h>

#include <algorithm>

#include <isthmus/errors.hpp>

#include "flows/two_gpus.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};
constexpr FlowOptions kOptions{.stopping = kQuick};
constexpr double kLinkBytesPerSecond = 3e9;  // of the emulated profiles here

class TwoGpusApart : public TwoGpus {
protected:
  TwoGpusApart() : TwoGpus("two-gpus-apart") {}
};

class ConfidentialGpu : public testing::Test {
protected:
  Driver driver_ = Driver::open("emulated:confidential");
};

const Samples& samples_of(const Measurement& measurement, const std::string& metric) {
  const auto found = std::find_if(measurement.samples.begin(), measurement.samples.end(),
                                  [&](const Samples& each) { return each.metric == metric; });
  if (found == measurement.samples.end()) throw std::runtime_error("no metric " + metric);
  return *found;
}

double least(const Measurement& measurement, const std::string& metric) {
  const std::vector<double>& seconds = samples_of(measurement, metric).seconds;
  return *std::min_element(seconds.begin(), seconds.end());
}

TEST_F(TwoGpus, EachIsMeasuredAloneAndWhileTheOtherRuns) {
  for (const Direction direction : {Direction::host_to_device, Direction::device_to_host}) {
    const std::vector<FlowUnderTest> flows = host_flows(direction);
    for (std::size_t index = 0; index < flows.size(); ++index) {
      const Measurement measurement = measure_under_load(flows, index, kOptions);
      EXPECT_EQ(measurement.samples.size(), 2U);
      // There are two emulated links: the other GPU's copies don't slow this one down.
      EXPECT_GE(least(measurement, "alone") * kLinkBytesPerSecond, 0.99 * kSizeBytes);
      EXPECT_GE(least(measurement, "copy_time") * kLinkBytesPerSecond, 0.99 * kSizeBytes);
      EXPECT_GT(measurement.first_call_seconds, 0);
    }
  }
}

TEST_F(TwoGpus, TogetherMoveAllBytesOverTheMakespan) {
  const std::vector<FlowUnderTest> flows = host_flows(Direction::host_to_device);
  const Measurement measurement = measure_aggregate(flows, kOptions);
  ASSERT_EQ(measurement.samples.size(), 1U);
  EXPECT_EQ(samples_of(measurement, "aggregate").copies_per_sample % flows.size(), 0U);
  // Not computed from single runs: two links move at most twice as much as one.
  EXPECT_GE(least(measurement, "aggregate") * 2 * kLinkBytesPerSecond, 0.99 * kSizeBytes);
}

TEST_F(TwoGpus, CopyByKernelsToo) {
  const std::vector<FlowUnderTest> flows =
      host_flows(Direction::device_to_host, Engine::multiprocessors);
  EXPECT_GT(least(measure_under_load(flows, 0, kOptions), "copy_time"), 0);
}

TEST_F(TwoGpus, ReadAndWriteEachOthersMemory) {
  for (const PeerRole role : {PeerRole::read, PeerRole::write}) {
    for (const Engine by : {Engine::copy_engine, Engine::multiprocessors}) {
      const Measurement measurement = measure_flow(peer_flow(role, by), kOptions);
      EXPECT_GT(least(measurement, "copy_time"), 0);
      EXPECT_EQ(measurement.verified_on, VerifiedOn::device);
    }
  }
}

TEST_F(TwoGpus, AskForPeerCopiesInTheStreamOfTheOneThatDoesThem) {
  for (const PeerRole role : {PeerRole::read, PeerRole::write}) {
    const FlowUnderTest member = peer_flow(role, Engine::copy_engine);
    EXPECT_EQ(member.flow->context().device().ordinal, role == PeerRole::read ? 1 : 0);
  }
}

TEST_F(TwoGpus, PeerCopiesAreComparedFromTheHostWithoutKernels) {
  PeerFlow flow({contexts_[0], nullptr}, {contexts_[1], nullptr},
                {PeerRole::read, Engine::copy_engine, kSizeBytes + 5});
  EXPECT_EQ(measure_flow({&flow, nullptr}, kOptions).verified_on, VerifiedOn::host);
}

TEST_F(TwoGpus, ACopyBetweenThemThatNeverHappenedIsNoticed) {
  const FlowUnderTest member = peer_flow(PeerRole::read, Engine::copy_engine);
  controls_.swallow_calls("cuMemcpyPeerAsync");
  EXPECT_THROW(measure_flow(member, kOptions), CorruptTransfer);
}

TEST_F(TwoGpus, ACopyInTheWrongDirectionIsNoticed) {
  const std::vector<FlowUnderTest> up = host_flows(Direction::host_to_device);
  up[0].flow->prepare();
  up[0].flow->poison();
  const CurrentContext current(contexts_[0]);
  // Copies the poisoned device buffer back to the host, like a loop that mixes up the directions.
  Copy(*buffers_[0], Direction::device_to_host, kSizeBytes).blocking();
  EXPECT_THROW(up[0].flow->verify(), CorruptTransfer);
}

TEST_F(TwoGpus, ACopyOfOneOfThemThatNeverHappenedSpoilsTheAggregate) {
  const std::vector<FlowUnderTest> flows = host_flows(Direction::host_to_device);
  controls_.swallow_calls("cuMemcpyHtoDAsync");
  EXPECT_THROW(measure_aggregate(flows, kOptions), CorruptTransfer);
}

TEST_F(TwoGpus, PeerAccessEndsWithTheFlowThatEnabledIt) {
  peer_flow(PeerRole::read, Engine::copy_engine);
  flows_.clear();
  const CurrentContext current(contexts_[1]);
  EXPECT_EQ(driver_.raw(symbol::ctx_disable_peer_access)(contexts_[0].handle()),
            CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_F(TwoGpus, PeerAccessOfOthersIsLeftAsItWas) {
  const CurrentContext current(contexts_[1]);
  driver_.call(symbol::ctx_enable_peer_access)(contexts_[0].handle(), 0U);
  peer_flow(PeerRole::read, Engine::copy_engine);
  flows_.clear();
  EXPECT_EQ(driver_.raw(symbol::ctx_disable_peer_access)(contexts_[0].handle()), CUDA_SUCCESS);
}

TEST_F(TwoGpus, MustBeDifferentDevices) {
  EXPECT_THROW(PeerFlow(end(0), end(0), {PeerRole::read, Engine::copy_engine, kSizeBytes}),
               UsageError);
}

TEST_F(TwoGpus, UnderLoadNeedAnotherFlow) {
  std::vector<FlowUnderTest> flows = host_flows(Direction::host_to_device);
  EXPECT_THROW(measure_under_load(flows, 2, kOptions), UsageError);
  flows.pop_back();
  EXPECT_THROW(measure_under_load(flows, 0, kOptions), UsageError);
  EXPECT_THROW(measure_aggregate({}, kOptions), UsageError);
}

TEST_F(TwoGpusApart, SayThatTheyCanNotReachEachOther) {
  try {
    PeerFlow(end(0), end(1), {PeerRole::read, Engine::copy_engine, kSizeBytes});
    ADD_FAILURE() << "no peer access, and nobody said so";
  } catch (const Unavailable& absence) {
    EXPECT_NE(std::string(absence.what()).find("GPU 1 can't reach the memory of GPU 0"),
              std::string::npos);
  }
}

TEST_F(ConfidentialGpu, WhoseEventsGoBackwardsIsUnavailableNotQuick) {
  const Context context = Context::retain(driver_, 0);
  const Kernels kernels(context, {});
  CopyBuffers buffers(context, HostMemory::pinned, kSizeBytes, std::nullopt);
  HostFlow flow(buffers, &kernels, {Direction::host_to_device, kSizeBytes, Engine::copy_engine});
  EXPECT_THROW(measure_flow({&flow, &kernels}, kOptions), Unavailable);
}

}  // namespace
}  // namespace isthmus::measure

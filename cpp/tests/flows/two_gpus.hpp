// Two emulated GPUs with flows on each. In a program of their own: profiles change only while no
// context is alive.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "faults/emulator_controls.hpp"
#include "measure/bandwidth/concurrent_flows.hpp"
#include "measure/bandwidth/gpu_flows.hpp"

namespace isthmus::measure {

inline constexpr std::size_t kSizeBytes = std::size_t{1} << 20U;

/// Two emulated GPUs, each with buffers; removes injected faults afterwards.
class TwoGpus : public testing::Test {
protected:
  explicit TwoGpus(const std::string& profile = "two-gpus")
      : driver_(Driver::open("emulated:" + profile)), controls_(driver_) {}

  void SetUp() override {
    controls_.reset();
    for (int ordinal = 0; ordinal < 2; ++ordinal) {
      contexts_.push_back(Context::retain(driver_, ordinal));
      kernels_.push_back(std::make_unique<Kernels>(contexts_.back(), Kernels::Options{}));
    }
  }
  void TearDown() override { controls_.reset(); }

  /// A flow on each GPU, up or down.
  std::vector<FlowUnderTest> host_flows(Direction direction, Engine by = Engine::copy_engine) {
    std::vector<FlowUnderTest> members;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      buffers_.push_back(std::make_unique<CopyBuffers>(contexts_[i], HostMemory::pinned, kSizeBytes,
                                                       std::nullopt));
      flows_.push_back(std::make_unique<HostFlow>(*buffers_.back(), kernels_[i].get(),
                                                  HostFlowOptions{direction, kSizeBytes, by}));
      members.push_back({flows_.back().get(), kernels_[i].get()});
    }
    return members;
  }

  PeerEnd end(std::size_t index) const { return {contexts_[index], kernels_[index].get()}; }
  FlowUnderTest peer_flow(PeerRole role, Engine by) {
    flows_.push_back(std::make_unique<PeerFlow>(end(0), end(1), PeerOptions{role, by, kSizeBytes}));
    return {flows_.back().get(), kernels_[0].get()};
  }

  Driver driver_;
  test::EmulatorControls controls_;
  std::vector<Context> contexts_;
  std::vector<std::unique_ptr<Kernels>> kernels_;
  std::vector<std::unique_ptr<CopyBuffers>> buffers_;
  std::vector<std::unique_ptr<Flow>> flows_;
};

}  // namespace isthmus::measure

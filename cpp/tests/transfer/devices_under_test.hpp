// The parts below Transfers that plan copies: windows, the paths to each device, and host memory.
#pragma once

#include <optional>

#include "transfer/plan/devices.hpp"
#include "transfer/plan/window_cache.hpp"
#include "transfer/request/host_memory.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {

/// A test with its own windows and paths, which are destroyed before the context.
class DevicesUnderTest : public StagingUnderTest {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    if (IsSkipped()) return;
    windows_.emplace(Windows(driver()));
    devices_.emplace(driver(), *windows_);
    memory_.emplace(driver());
  }
  void TearDown() override {
    devices_.reset();
    windows_.reset();
    StagingUnderTest::TearDown();
  }

  std::optional<WindowCache> windows_;
  std::optional<Devices> devices_;
  std::optional<HostMemory> memory_;
};

}  // namespace isthmus::transfer

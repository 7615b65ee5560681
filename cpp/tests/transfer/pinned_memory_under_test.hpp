// Pools and regions on the driver that ISTHMUS_DRIVER names, real or emulated.
#pragma once

#include <optional>
#include <string>

#include <isthmus/pinned.hpp>

#include "contract/machine_under_test.hpp"
#include "device/context.hpp"
#include "faults/emulator_controls.hpp"
#include "messages.hpp"

namespace isthmus::transfer {

using contract::kKiB;
using contract::kMiB;
using isthmus::test::message_of;
using isthmus::test::says;

class PinnedMemoryUnderTest : public contract::MachineUnderTest {
protected:
  void SetUp() override {
    MachineUnderTest::SetUp();
    if (IsSkipped()) return;
    if (driver().emulated()) controls_.emplace(driver());
  }
  void TearDown() override {
    if (controls_) controls_->reset();
    MachineUnderTest::TearDown();
  }

  static Context retained() { return Context::retain(driver(), 0); }
  PinnedPool pool(const PinnedPoolOptions& options = {}) {
    return PinnedPool(driver(), 0, options);
  }

  /// Controls of the emulated driver; tests that need it are skipped on a real one.
  const isthmus::test::EmulatorControls& controls() const { return *controls_; }
  bool emulated() const { return controls_.has_value(); }

  /// How often a call of that name is in the log.
  std::size_t num_calls(const std::string& symbol) const {
    return static_cast<std::size_t>(isthmus::test::counts_of_calls(controls().call_log())[symbol]);
  }

private:
  std::optional<isthmus::test::EmulatorControls> controls_;
};

}  // namespace isthmus::transfer

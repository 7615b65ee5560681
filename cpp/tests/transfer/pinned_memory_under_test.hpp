// Pools and regions on the driver that ISTHMUS_DRIVER names, real or emulated.
#pragma once

#include <optional>
#include <string>

#include <isthmus/pinned.hpp>

#include "contract/machine_under_test.hpp"
#include "device/context.hpp"
#include "faults/emulator_controls.hpp"

namespace isthmus::transfer {

using contract::kKiB;
using contract::kMiB;

template <typename Failure, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

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

  /// Of the emulated driver; tests that need it skip on a real one.
  const test::EmulatorControls& controls() const { return *controls_; }
  bool emulated() const { return controls_.has_value(); }

  /// How often a call of that name is in the log.
  std::size_t num_calls(const std::string& symbol) const {
    const std::string log = controls().call_log();
    std::size_t count = 0;
    for (auto at = log.find(symbol); at != std::string::npos; at = log.find(symbol, at + 1)) {
      if (log.compare(at + symbol.size(), 1, " ") == 0 && (at == 0 || log[at - 1] == '\n')) ++count;
    }
    return count;
  }

private:
  std::optional<test::EmulatorControls> controls_;
};

}  // namespace isthmus::transfer

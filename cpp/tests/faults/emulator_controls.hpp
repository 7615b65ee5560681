// The emulated driver's controls, found as a test finds them: by dlsym in the library that is
// already open.
#pragma once

#include <dlfcn.h>

#include <ostream>
#include <stdexcept>
#include <string>

#include "driver/driver.hpp"
#include "emulator.h"

namespace isthmus::test {

class EmulatorControls {
public:
  explicit EmulatorControls(const Driver& driver)
      : library_(dlopen(driver.path().c_str(), RTLD_NOW | RTLD_NOLOAD)),
        fail_call(find<decltype(&isthmus_emulator_fail_call)>("isthmus_emulator_fail_call")),
        live(find<decltype(&isthmus_emulator_live)>("isthmus_emulator_live")),
        reset(find<decltype(&isthmus_emulator_reset)>("isthmus_emulator_reset")),
        log_calls(find<decltype(&isthmus_emulator_log_calls)>("isthmus_emulator_log_calls")),
        call_log_(find<decltype(&isthmus_emulator_call_log)>("isthmus_emulator_call_log")) {}

  std::string call_log() const {
    std::string text(call_log_(nullptr, 0), '\0');
    call_log_(text.data(), text.size());
    return text.c_str();
  }

private:
  template <typename Function>
  Function find(const char* name) const {
    void* function = library_ == nullptr ? nullptr : dlsym(library_, name);
    if (function == nullptr)
      throw std::runtime_error(std::string("not the emulated driver: no ") + name);
    return reinterpret_cast<Function>(function);
  }

  void* library_;

public:
  decltype(&isthmus_emulator_fail_call) fail_call;
  decltype(&isthmus_emulator_live) live;
  decltype(&isthmus_emulator_reset) reset;
  decltype(&isthmus_emulator_log_calls) log_calls;

private:
  decltype(&isthmus_emulator_call_log) call_log_;
};

}  // namespace isthmus::test

// In the struct's own namespace, where EXPECT_EQ looks.
inline bool operator==(const IsthmusEmulatorLive& a, const IsthmusEmulatorLive& b) {
  return a.contexts == b.contexts && a.streams == b.streams && a.events == b.events &&
         a.modules == b.modules && a.device_bytes == b.device_bytes &&
         a.pinned_bytes == b.pinned_bytes && a.registered_ranges == b.registered_ranges;
}

inline std::ostream& operator<<(std::ostream& out, const IsthmusEmulatorLive& live) {
  return out << live.contexts << " contexts, " << live.streams << " streams, " << live.events
             << " events, " << live.modules << " modules, " << live.device_bytes
             << " device bytes, " << live.pinned_bytes << " pinned bytes, "
             << live.registered_ranges << " registered ranges";
}

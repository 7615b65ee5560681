// The emulated driver's controls: the functions of emulator.h, found with dlsym in the library that
// is already open.
#pragma once

#include <dlfcn.h>

#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "driver/driver.hpp"
#include "emulator.h"

namespace isthmus::test {

class EmulatorControls {
public:
  explicit EmulatorControls(const Driver& driver)
      : library_(dlopen(driver.path().c_str(), RTLD_NOW | RTLD_NOLOAD)) {}

  std::string call_log() const {
    std::string text(copy_call_log(nullptr, 0), '\0');
    copy_call_log(text.data(), text.size());
    return text.c_str();
  }

  /// Makes every further call of `symbol` fail during a test.
  void fail_calls(const char* symbol, int code) const {
    for (int nth = 1; nth <= kMaxCalls; ++nth) fail_call(symbol, nth, code);
  }

  template <typename Function>
  Function find(const char* name) const {
    void* function = library_ == nullptr ? nullptr : dlsym(library_, name);
    if (function == nullptr)
      throw std::runtime_error(std::string("not the emulated driver: no ") + name);
    return reinterpret_cast<Function>(function);
  }

private:
  static constexpr int kMaxCalls = 2000;

  void* library_;

public:
#define ISTHMUS_CONTROL(member, name) \
  decltype(&isthmus_emulator_##name) member = find<decltype(member)>("isthmus_emulator_" #name)
  ISTHMUS_CONTROL(select_profile, select_profile);
  ISTHMUS_CONTROL(profile, profile);
  ISTHMUS_CONTROL(profiles, profiles);
  ISTHMUS_CONTROL(fail_call, fail_call);
  ISTHMUS_CONTROL(swallow_calls, swallow_calls);
  ISTHMUS_CONTROL(before_call, before_call);
  ISTHMUS_CONTROL(hide_symbol, hide_symbol);
  ISTHMUS_CONTROL(log_calls, log_calls);
  ISTHMUS_CONTROL(copy_call_log, call_log);
  ISTHMUS_CONTROL(object_file, object_file);
  ISTHMUS_CONTROL(live, live);
  ISTHMUS_CONTROL(modelled_ns, modelled_ns);
  ISTHMUS_CONTROL(window_copies, window_copies);
  ISTHMUS_CONTROL(reset, reset);
#undef ISTHMUS_CONTROL
};

/// Calls that can't be repeated: a resource whose release fails is lost. If a context stays
/// current, later calls change their meaning.
inline bool releases(const std::string& symbol) {
  static const std::set<std::string> known{
      "cuStreamDestroy", "cuEventDestroy",  "cuMemHostUnregister", "cuMemFreeHost",
      "cuMemFree",       "cuCtxPopCurrent", "cuGraphDestroy",      "cuDevicePrimaryCtxRelease"};
  return known.contains(symbol);
}

/// How often each function is called, according to a log.
inline std::map<std::string, int> counts_of_calls(const std::string& log) {
  std::istringstream lines(log);
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) ++counts[line.substr(0, line.find(' '))];
  return counts;
}

}  // namespace isthmus::test

// In the struct's namespace, where EXPECT_EQ finds it.
inline bool operator==(const IsthmusEmulatorLive& a, const IsthmusEmulatorLive& b) {
  return a.contexts == b.contexts && a.streams == b.streams && a.events == b.events &&
         a.modules == b.modules && a.device_bytes == b.device_bytes &&
         a.pinned_bytes == b.pinned_bytes && a.registered_ranges == b.registered_ranges &&
         a.graphs == b.graphs;
}

inline std::ostream& operator<<(std::ostream& out, const IsthmusEmulatorLive& live) {
  return out << live.contexts << " contexts, " << live.streams << " streams, " << live.events
             << " events, " << live.modules << " modules, " << live.device_bytes
             << " device bytes, " << live.pinned_bytes << " pinned bytes, "
             << live.registered_ranges << " registered ranges, " << live.graphs << " graphs";
}

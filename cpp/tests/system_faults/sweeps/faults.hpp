// Every way in which an operation's environment can fail, one at a time.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "faults/emulator_controls.hpp"
#include "system_faults.h"
#include "transfer/staging/staging_ring.hpp"

namespace isthmus::test {

/// A staging ring that holds the sweeps' copies as the default one would, of less memory: most
/// iterations pin it anew.
inline transfer::RingSettings sweeps_ring() {
  transfer::RingSettings settings;
  settings.slot_bytes = std::size_t{512} << 10U;
  return settings;
}

/// A single failure: the nth call of a system or driver function.
struct Fault {
  std::string function;
  bool of_driver = false;
  int code = 0;  ///< the error of a driver function
};

/// Failures of the system.
inline std::vector<Fault> system_faults() {
  std::vector<Fault> faults;
  for (const char* const kind : {"new", "thread", "mmap", "mlock", "open"})
    faults.push_back({kind, false, 0});
  return faults;
}

/// Makes one call fail, and tells whether that happened.
class ArmedFault {
public:
  ArmedFault(const EmulatorControls& emulator, const Fault& fault, int nth)
      : emulator_(emulator), fault_(fault), nth_(nth) {
    if (fault_.of_driver) {
      emulator_.fail_call(fault_.function.c_str(), nth, fault_.code);
    } else if (isthmus_system_faults_arm(fault_.function.c_str(), nth, "main") != 0) {
      throw std::invalid_argument("no fault called " + fault_.function);
    }
  }
  ArmedFault(const ArmedFault&) = delete;
  ArmedFault& operator=(const ArmedFault&) = delete;
  ~ArmedFault() {
    if (!ended_) static_cast<void>(end());
  }

  /// Ends all failures.
  ///
  /// Returns     true if there was a call to fail
  bool end() {
    ended_ = true;
    if (!fault_.of_driver) return isthmus_system_faults_disarm() >= nth_;
    return emulator_.reset() == 0;
  }

private:
  const EmulatorControls& emulator_;
  const Fault& fault_;
  int nth_;
  bool ended_ = false;
};

/// A process's resources that must be released.
struct Possessions {
  IsthmusEmulatorLive driver{};
  std::size_t num_threads = 0;  ///< without the emulated driver's, which stay
  std::size_t num_descriptors = 0;

  static Possessions now(const EmulatorControls& emulator) {
    Possessions all{emulator.live(), 0, 0};
    namespace fs = std::filesystem;
    for (const auto& thread : fs::directory_iterator("/proc/self/task"))
      all.num_threads += is_of_emulator(thread.path()) ? 0 : 1;
    for ([[maybe_unused]] const auto& open : fs::directory_iterator("/proc/self/fd"))
      ++all.num_descriptors;
    return all;
  }
  /// A thread that has ended is still listed for a moment: also before the operation.
  bool is_no_more_than(const Possessions& other) const {
    return driver == other.driver && num_threads <= other.num_threads &&
           num_descriptors == other.num_descriptors;
  }

private:
  static bool is_of_emulator(const std::filesystem::path& thread) {
    std::ifstream file(thread / "comm");
    std::string name;
    return std::getline(file, name) && name.starts_with("emu-");
  }
};

inline std::ostream& operator<<(std::ostream& out, const Possessions& all) {
  return out << all.driver << ", " << all.num_threads << " threads, " << all.num_descriptors
             << " descriptors";
}

}  // namespace isthmus::test

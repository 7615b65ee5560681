// The log of driver calls, for tests.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace isthmus::emulator {

class CallLog {
public:
  /// Starting clears the log; stopping keeps it readable.
  void enable(bool enabled);
  void clear();
  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  void append(const std::string& line);
  std::string text() const;

private:
  mutable std::mutex mutex_;
  std::atomic<bool> enabled_{false};
  std::string text_;
};

/// The process's log. Never destroyed.
CallLog& call_log();

}  // namespace isthmus::emulator

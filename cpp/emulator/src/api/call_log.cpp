#include "api/call_log.hpp"

namespace isthmus::emulator {

void CallLog::enable(bool enabled) {
  const std::scoped_lock lock(mutex_);
  if (enabled) text_.clear();
  enabled_ = enabled;
}

void CallLog::clear() {
  const std::scoped_lock lock(mutex_);
  text_.clear();
}

void CallLog::append(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  text_ += line;
  text_ += '\n';
}

std::string CallLog::text() const {
  const std::scoped_lock lock(mutex_);
  return text_;
}

CallLog& call_log() {
  static auto& log = *new CallLog;
  return log;
}

}  // namespace isthmus::emulator

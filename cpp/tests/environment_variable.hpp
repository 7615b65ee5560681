// A variable of the environment that a test sets.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace isthmus::test {

/// Sets a variable, or unsets it, and restores it in the end. One thread at a time may change the
/// environment.
class EnvironmentVariable {
public:
  /// value       null: unset
  EnvironmentVariable(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* const before = std::getenv(name_.c_str())) before_ = before;
    set(value);
  }
  ~EnvironmentVariable() { set(before_ ? before_->c_str() : nullptr); }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;

private:
  void set(const char* value) {
    value != nullptr ? setenv(name_.c_str(), value, 1) : unsetenv(name_.c_str());
  }

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace isthmus::test

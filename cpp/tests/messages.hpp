// Messages of errors.
#pragma once

#include <string>

namespace isthmus::test {

/// The whole message of the `Error` that `action` throws; "" if it doesn't throw.
template <typename Error, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

}  // namespace isthmus::test

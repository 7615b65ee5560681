#include "api/call.hpp"

namespace isthmus::emulator {

Call& Call::note(std::string_view key, std::string_view value) {
  if (logged_) notes_.append(" ").append(key).append("=").append(value);
  return *this;
}

Call& Call::note(std::string_view key, unsigned long long value) {
  return logged_ ? note(key, std::to_string(value)) : *this;
}

void Call::log(CUresult result) noexcept {
  try {
    call_log().append(std::string(symbol_) + notes_ + " -> " + std::to_string(result));
  } catch (const std::bad_alloc&) {
    return;  // a log line isn't worth failing the call
  }
}

}  // namespace isthmus::emulator

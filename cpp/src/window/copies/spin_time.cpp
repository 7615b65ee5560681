#include "window/copies/spin_time.hpp"

#include <charconv>

#include <isthmus/errors.hpp>

#include "driver/environment.hpp"
#include "host/cpu/spinning_worker.hpp"
#include "host/system/printable.hpp"

namespace isthmus::window {
namespace {

constexpr unsigned kMaxMicroseconds = 1'000'000;
constexpr std::size_t kShownBytes = 40;

}  // namespace

std::chrono::microseconds spin_time() {
  return spin_time_from(environment("ISTHMUS_SPIN_US").value_or(""));
}

std::chrono::microseconds spin_time_from(const std::string& microseconds) {
  if (microseconds.empty()) return host::kDefaultSpinTime;
  unsigned value = 0;
  const char* const end = microseconds.data() + microseconds.size();
  const auto read = std::from_chars(microseconds.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value > kMaxMicroseconds)
    throw UsageError("ISTHMUS_SPIN_US is '" + host::printable(microseconds, kShownBytes) +
                     "'; it must be a whole number of microseconds up to " +
                     std::to_string(kMaxMicroseconds) + ", or not be set");
  return std::chrono::microseconds(value);
}

}  // namespace isthmus::window

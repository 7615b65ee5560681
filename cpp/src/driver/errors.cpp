#include <isthmus/errors.hpp>

#include <string_view>
#include <utility>

namespace isthmus {
namespace {

std::string file_name(const std::source_location& location) {
  const std::string_view path = location.file_name();
  return std::string(path.substr(path.find_last_of('/') + 1));
}

std::string driver_message(int code, const std::string& code_name, const std::string& symbol,
                           const std::string& detail, const std::source_location& location) {
  std::string message = symbol + " failed: " + code_name + " (" + std::to_string(code) + ")";
  if (!detail.empty()) message += ", " + detail;
  return message + " at " + file_name(location) + ":" + std::to_string(location.line());
}

constexpr const char* kInUse =
    "the driver can't say whether the copy has ended, so its source and its target must be kept "
    "until the process ends";

}  // namespace

Unavailable::Unavailable(std::string what, std::string why, std::string needs)
    : std::runtime_error(what + " is not available: " + why + "; needs " + needs),
      capability_(std::move(what)),
      reason_(std::move(why)),
      needs_(std::move(needs)) {}

DriverError::DriverError(int code, std::string code_name, std::string symbol,
                         const std::string& detail, std::source_location location)
    : std::runtime_error(driver_message(code, code_name, symbol, detail, location)),
      code_(code),
      code_name_(std::move(code_name)),
      symbol_(std::move(symbol)),
      location_(location) {}

DriverError::DriverError(const DriverError& error, const std::string& more, bool memory_in_use)
    : std::runtime_error(error.what() + ("; " + more)),
      code_(error.code_),
      code_name_(error.code_name_),
      symbol_(error.symbol_),
      location_(error.location_),
      memory_in_use_(memory_in_use || error.memory_in_use_) {}

void DriverError::throw_adding(const std::string& more) const {
  throw DriverError(*this, more, false);
}

void DriverError::throw_of_memory_in_use() const { throw DriverError(*this, kInUse, true); }

void OutOfDeviceMemory::throw_adding(const std::string& more) const {
  throw OutOfDeviceMemory(*this, more, false);
}

void OutOfDeviceMemory::throw_of_memory_in_use() const {
  throw OutOfDeviceMemory(*this, kInUse, true);
}

}  // namespace isthmus

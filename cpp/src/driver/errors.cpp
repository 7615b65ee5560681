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

}  // namespace isthmus

#include "driver/driver.hpp"

#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Driver::Driver(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Driver Driver::absent(const std::string& reason, const std::string& needs) {
  watch_forks();
  State state;
  state.absence = reason;
  state.needs = needs;
  return Driver(std::make_shared<const State>(std::move(state)));
}

int Driver::version() const noexcept { return state_->version; }
const std::string& Driver::path() const noexcept { return state_->path; }
bool Driver::emulated() const noexcept { return !state_->profile.empty(); }
const std::string& Driver::profile() const noexcept { return state_->profile; }

std::vector<std::string> Driver::missing_symbols() const {
  std::vector<std::string> names;
  for (std::size_t slot = 0; slot < kNumSymbols; ++slot) {
    if (state_->functions[slot] == nullptr) names.emplace_back(kSymbolRows[slot].name);
  }
  return names;
}

bool Driver::has_devices() const noexcept { return state_->has_devices && in_own_process(); }

void Driver::require_devices() const {
  if (state_->has_devices) return require_own_process();
  if (!state_->absence.empty()) throw Unavailable("CUDA driver", state_->absence, state_->needs);
  throw Unavailable("CUDA device", "the driver at " + state_->path + " shows none", state_->needs);
}

int Driver::device_count() const {
  int count = 0;
  if (!state_->absence.empty()) return count;
  require_own_process();
  const CUresult result = raw(symbol::device_get_count)(&count);
  // If cuInit found no device, open() accepts that and the driver stays uninitialised.
  if (result == CUDA_ERROR_NO_DEVICE || result == CUDA_ERROR_NOT_INITIALIZED) return 0;
  check(result, symbol::device_get_count.name);
  return count;
}

std::string Driver::name_of(int result) const {
  const char* name = nullptr;
  raw(symbol::get_error_name)(static_cast<CUresult>(result), &name);
  return name != nullptr ? name : std::to_string(result);
}

void Driver::check(int result, std::string_view symbol_name, std::source_location location) const {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  const char* description = nullptr;
  raw(symbol::get_error_name)(static_cast<CUresult>(result), &name);
  raw(symbol::get_error_string)(static_cast<CUresult>(result), &description);
  const std::string code_name = name != nullptr ? name : "unknown error";
  const std::string detail = description != nullptr ? description : "";
  const std::string symbol(symbol_name);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw OutOfDeviceMemory(result, code_name, symbol, detail, location);
  }
  throw DriverError(result, code_name, symbol, detail, location);
}

void Driver::missing(std::size_t slot) const {
  if (state_->path.empty()) require_devices();
  const SymbolRow& row = kSymbolRows[slot];
  throw Unavailable(row.name,
                    "the driver at " + state_->path + " (CUDA " + version_text(state_->version) +
                        ") does not have it",
                    "a driver for CUDA " + std::string(row.since) + " or later");
}

}  // namespace isthmus

#include "api/call.hpp"

#include <algorithm>
#include <array>

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

namespace {

/// Calls that work without the device, even a lost one.
constexpr std::array<std::string_view, 10> kAnsweredByTheDriver{
    "cuGetErrorName",   "cuGetErrorString", "cuGetProcAddress", "cuDriverGetVersion",
    "cuDeviceGetCount", "cuDeviceGet",      "cuCtxPushCurrent", "cuCtxPopCurrent",
    "cuCtxGetCurrent",  "cuCtxGetDevice"};

}  // namespace

void Faults::fail_call(std::string_view symbol, int nth, CUresult code) {
  const std::scoped_lock lock(mutex_);
  pending_.push_back({std::string(symbol), nth, code});
  any_pending_ = true;
}

void Faults::swallow(std::string_view symbol) {
  const std::scoped_lock lock(mutex_);
  swallowed_.emplace(symbol);
  any_pending_ = true;
}

void Faults::before_call(std::string_view symbol, int nth, void (*function)(void*),
                         void* argument) {
  const std::scoped_lock lock(mutex_);
  functions_.push_back({std::string(symbol), nth, function, argument});
  any_functions_ = true;
}

/// Without the lock: a function may call the driver, and so this function.
void Faults::call_due_functions(std::string_view symbol) {
  std::vector<Function> due;
  {
    const std::scoped_lock lock(mutex_);
    for (auto each = functions_.begin(); each != functions_.end();) {
      const bool now = each->symbol == symbol && --each->calls_left <= 0;
      if (now) due.push_back(*each);
      each = now ? functions_.erase(each) : each + 1;
    }
    any_functions_ = !functions_.empty();
  }
  for (const Function& each : due) each.function(each.argument);
}

void Faults::hide(std::string_view symbol) {
  const std::scoped_lock lock(mutex_);
  hidden_.emplace(symbol);
}

std::size_t Faults::reset() {
  const std::scoped_lock lock(mutex_);
  const std::size_t num_left = pending_.size();
  pending_.clear();
  swallowed_.clear();
  functions_.clear();
  any_functions_ = false;
  any_pending_ = false;
  hidden_.clear();
  return num_left;
}

void Faults::lose_device_after(int num_copies) {
  copies_left_ = num_copies;
  may_be_lost_ = num_copies > 0;
}

bool Faults::lost(std::string_view symbol) {
  if (!may_be_lost_.load(std::memory_order_relaxed)) return false;
  if (symbol.starts_with("cuMemcpy")) --copies_left_;
  return copies_left_ < 0 &&
         std::ranges::find(kAnsweredByTheDriver, symbol) == std::ranges::end(kAnsweredByTheDriver);
}

std::optional<CUresult> Faults::next(std::string_view symbol) {
  if (lost(symbol)) return CUDA_ERROR_UNKNOWN;
  return due(symbol);
}

std::optional<CUresult> Faults::due(std::string_view symbol) {
  if (!any_pending_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  std::optional<CUresult> code;
  for (auto fault = pending_.begin(); fault != pending_.end();) {
    const bool due = fault->symbol == symbol && --fault->calls_left <= 0;
    if (due && !code) code = fault->code;
    fault = due ? pending_.erase(fault) : fault + 1;
  }
  any_pending_ = !pending_.empty() || !swallowed_.empty();
  if (!code && swallowed_.contains(symbol)) code = CUDA_SUCCESS;
  return code;
}

bool Faults::hidden(std::string_view symbol) const {
  const std::scoped_lock lock(mutex_);
  return hidden_.contains(symbol);
}

Faults& faults() {
  static auto& faults = *new Faults;
  return faults;
}

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

#include "faults.hpp"

namespace isthmus::emulator {

void Faults::fail_call(std::string_view symbol, int nth, CUresult code) {
  const std::scoped_lock lock(mutex_);
  pending_.push_back({std::string(symbol), nth, code});
  any_pending_ = true;
}

void Faults::hide(std::string_view symbol) {
  const std::scoped_lock lock(mutex_);
  hidden_.emplace(symbol);
}

void Faults::reset() {
  const std::scoped_lock lock(mutex_);
  pending_.clear();
  any_pending_ = false;
  hidden_.clear();
}

std::optional<CUresult> Faults::next(std::string_view symbol) {
  if (!any_pending_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  std::optional<CUresult> code;
  for (auto fault = pending_.begin(); fault != pending_.end();) {
    const bool due = fault->symbol == symbol && --fault->calls_left <= 0;
    if (due && !code) code = fault->code;
    fault = due ? pending_.erase(fault) : fault + 1;
  }
  any_pending_ = !pending_.empty();
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

}  // namespace isthmus::emulator

// symbols.inc as typed constants: symbol::mem_alloc knows its name, its signature and its slot.
// The part of Driver that is private to the library: its table of functions, and calls by symbol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include <cudaTypedefs.h>

#include <isthmus/driver.hpp>

#include "driver/forks.hpp"

namespace isthmus {

enum class Requirement { required, optional };

/// One driver function: what to ask cuGetProcAddress for, and its slot in the Driver's table.
template <typename Function>
struct Symbol {
  std::string_view name;
  std::size_t slot;
};

/// A symbol without its signature, for the loader.
struct SymbolRow {
  const char* name;
  int abi;
  std::string_view since;
  Requirement requirement;
};

inline constexpr std::array kSymbolRows{
#define ISTHMUS_DRIVER_SYMBOL(member, symbol, abi, since, requirement) \
  SymbolRow{#symbol, abi, since, Requirement::requirement},
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL
};

inline constexpr std::size_t kNumSymbols = kSymbolRows.size();

namespace symbol {

enum Slot : std::size_t {
#define ISTHMUS_DRIVER_SYMBOL(member, symbol, abi, since, requirement) slot_##member,
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL
};

#define ISTHMUS_DRIVER_SYMBOL(member, symbol, abi, since, requirement) \
  inline constexpr Symbol<PFN_##symbol##_v##abi> member{#symbol, slot_##member};
#include "driver/symbols.inc"
#undef ISTHMUS_DRIVER_SYMBOL

}  // namespace symbol

/// The oldest driver Isthmus works with, as cuDriverGetVersion counts: 1000 * major + 10 * minor.
inline constexpr int kOldestDriverVersion = 12020;

struct Driver::State {
  std::array<void*, kNumSymbols> functions{};
  std::string path;
  std::string profile;
  int version = 0;
  bool has_devices = false;
  std::uint64_t process = process_generation();  ///< that opened it
  std::string absence;                           ///< why there is no driver; empty if there is one
  std::string needs;                             ///< what would provide a driver, or a device
};

/// A driver function whose result is checked. Made by Driver::call; lives for one expression or a
/// loop.
template <typename Function>
class CheckedCall {
public:
  CheckedCall(const Driver& driver, Function function, std::string_view name,
              std::source_location location)
      : driver_(driver), function_(function), name_(name), location_(location) {}

  template <typename... Args>
  void operator()(Args... args) const {
    const CUresult result = function_(args...);
    if (result != CUDA_SUCCESS) [[unlikely]]
      driver_.check(result, name_, location_);
  }

private:
  const Driver& driver_;
  Function function_;
  std::string_view name_;
  std::source_location location_;
};

template <typename Function>
CheckedCall<Function> Driver::call(const Symbol<Function>& symbol,
                                   std::source_location location) const {
  return {*this, require(symbol), symbol.name, location};
}

template <typename Function>
Function Driver::raw(const Symbol<Function>& symbol) const noexcept {
  return reinterpret_cast<Function>(state_->functions[symbol.slot]);
}

template <typename Function>
bool Driver::has(const Symbol<Function>& symbol) const noexcept {
  return raw(symbol) != nullptr;
}

inline bool Driver::in_own_process() const noexcept {
  return state_->process == process_generation();
}

inline void Driver::require_own_process() const {
  isthmus::require_own_process(state_->process, "CUDA");
}

template <typename Function>
Function Driver::require(const Symbol<Function>& symbol) const {
  if (!has(symbol)) [[unlikely]]
    missing(symbol.slot);
  require_own_process();
  return raw(symbol);
}

/// "12.2" for 12020.
std::string version_text(int version);

}  // namespace isthmus

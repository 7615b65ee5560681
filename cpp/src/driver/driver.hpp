// The CUDA driver, loaded at run time. A Driver is a value: copy it, pass it, keep it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "driver/symbols.hpp"

namespace isthmus {

/// The oldest driver Isthmus works with, as cuDriverGetVersion counts: 1000 * major + 10 * minor.
inline constexpr int kOldestDriverVersion = 12020;

class Driver;

/// A driver function whose result is checked. Made by Driver::call; lives for one expression or a
/// loop.
template <typename Function>
class CheckedCall {
public:
  CheckedCall(const Driver& driver, Function function, std::string_view name,
              std::source_location location)
      : driver_(driver), function_(function), name_(name), location_(location) {}

  template <typename... Args>
  void operator()(Args... args) const;

private:
  const Driver& driver_;
  Function function_;
  std::string_view name_;
  std::source_location location_;
};

/// A loaded and initialised CUDA driver.
///
/// Copies share the library, which stays open for the life of the process: CUDA can't be unloaded
/// safely. Every member function may be called from any thread.
class Driver {
public:
  /// Opens and initialises a driver.
  ///
  /// source   "system"              libcuda.so.1, by the dynamic linker's search order
  ///          "emulated[:PROFILE]"  the emulated driver that ships with Isthmus
  ///          a path (has a '/')    that library
  ///          "" (default)          the value of ISTHMUS_DRIVER, or else "system"
  /// Throws   Unavailable when there is no such library, it is the toolkit's stub, it is older than
  ///          CUDA 12.2, or a required symbol is missing; UsageError for another form of `source`;
  ///          DriverError when cuInit fails for any other reason.
  static Driver open(const std::string& source = {});

  /// Makes sure that there is a library for open() to open. Leaves it uninitialised, so that a
  /// program may still fork() and use CUDA in the child. What open() looks into later isn't looked
  /// into.
  ///
  /// Throws   Unavailable when there is none; UsageError for another form of `source`.
  static void find(const std::string& source = {});

  /// Calls a function and throws DriverError, OutOfDeviceMemory or (if it is missing) Unavailable.
  ///
  /// Use as: driver.call(symbol::mem_alloc)(&pointer, size_bytes);
  template <typename Function>
  CheckedCall<Function> call(
      const Symbol<Function>& symbol,
      std::source_location location = std::source_location::current()) const {
    return {*this, require(symbol), symbol.name, location};
  }

  /// The bare function, for destructors and for code that handles the result itself; null if
  /// missing.
  template <typename Function>
  Function raw(const Symbol<Function>& symbol) const noexcept {
    return reinterpret_cast<Function>(state_->functions[symbol.slot]);
  }

  template <typename Function>
  bool has(const Symbol<Function>& symbol) const noexcept {
    return raw(symbol) != nullptr;
  }

  /// Throws DriverError (OutOfDeviceMemory for code 2) unless `result` is CUDA_SUCCESS.
  void check(CUresult result, std::string_view symbol_name,
             std::source_location location = std::source_location::current()) const {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(result, symbol_name, location);
  }

  /// "CUDA_ERROR_INVALID_VALUE"; the number of a result that the driver has no name for.
  std::string name_of(CUresult result) const;

  /// 1000 * major + 10 * minor of the CUDA version the driver implements: 13000 is CUDA 13.0.
  int version() const noexcept { return state_->version; }
  /// The file that was opened, resolved: what /proc/self/maps would show.
  const std::string& path() const noexcept { return state_->path; }
  /// True for the emulated driver: every number it yields is modelled.
  bool emulated() const noexcept { return !state_->profile.empty(); }
  /// The emulated driver's profile; empty on a real one.
  const std::string& profile() const noexcept { return state_->profile; }
  /// Optional symbols that this driver lacks.
  std::vector<std::string> missing_symbols() const;
  /// Number of devices; 0 when there is none.
  int device_count() const;

private:
  struct State {
    std::array<void*, kNumSymbols> functions{};
    std::string path;
    std::string profile;
    int version = 0;
  };
  explicit Driver(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  template <typename Function>
  Function require(const Symbol<Function>& symbol) const {
    if (!has(symbol)) [[unlikely]]
      missing(symbol.slot);
    return raw(symbol);
  }
  [[noreturn]] void fail(CUresult result, std::string_view symbol_name,
                         std::source_location location) const;
  [[noreturn]] void missing(std::size_t slot) const;

  friend class DriverLoader;
  std::shared_ptr<const State> state_;
};

template <typename Function>
template <typename... Args>
void CheckedCall<Function>::operator()(Args... args) const {
  driver_.check(function_(args...), name_, location_);
}

/// "12.2" for 12020.
std::string version_text(int version);

}  // namespace isthmus

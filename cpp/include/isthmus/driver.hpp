// The CUDA driver, loaded at run time. Everything that copies, pins or opens windows needs one.
//
//     const isthmus::Driver driver = isthmus::Driver::open();
//
// Isthmus is not linked with libcuda.so.1 and needs no CUDA header.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include <isthmus/export.h>

namespace isthmus {

template <typename Function>
struct Symbol;
template <typename Function>
class CheckedCall;

/// A loaded and initialised CUDA driver. It has value semantics: copy it, pass it, keep it.
///
/// Copies share the library, which stays open for the life of the process: CUDA can't be unloaded
/// safely. Every member function may be called from any thread.
class ISTHMUS_API Driver {
public:
  /// Opens and initialises a driver.
  ///
  /// source   "system"              libcuda.so.1, by the dynamic linker's search order
  ///          "emulated[:PROFILE]"  the emulated driver that ships with Isthmus
  ///          a path (has a '/')    that library
  ///          "" (default)          the value of ISTHMUS_DRIVER, or else "system"
  /// Throws   Unavailable when there is no such library, it is the toolkit's stub, it is older than
  ///          CUDA 12.2, or a required symbol is missing; UsageError for another form of `source`,
  ///          and in a child of fork() whose parent has opened a driver, because CUDA doesn't
  ///          survive fork(); DriverError when cuInit fails for any other reason.
  static Driver open(const std::string& source = {});

  /// As open(). Where that throws Unavailable, gives an absent() driver, and in a child of fork() whose
  /// parent has opened a driver, one that throws UsageError where an absent one throws Unavailable.
  ISTHMUS_HIDDEN static Driver open_or_absent(const std::string& source = {});

  /// Stands for a driver that isn't there. It has no devices and no functions: copies within the
  /// host's memory need none, and whatever needs one throws Unavailable.
  ///
  /// reason, needs   for that error: why there is none, and what would provide one
  ISTHMUS_HIDDEN static Driver absent(const std::string& reason, const std::string& needs);

  /// Checks that there is a library for open() to open, without initialising it: the program may
  /// still fork() and use CUDA in the child. The further checks of open() (version, symbols,
  /// cuInit) are not made.
  ///
  /// Throws   Unavailable when there is none; UsageError for another form of `source`.
  static void find(const std::string& source = {});

  /// 1000 * major + 10 * minor of the CUDA version the driver implements: 13000 is CUDA 13.0.
  int version() const noexcept;
  /// The file that was opened, resolved: what /proc/self/maps would show.
  const std::string& path() const noexcept;
  /// True for the emulated driver: every number it yields is modelled.
  bool emulated() const noexcept;
  /// The emulated driver's profile; empty for a real driver.
  const std::string& profile() const noexcept;
  /// Optional driver functions that this driver lacks.
  std::vector<std::string> missing_symbols() const;
  /// Number of devices; 0 when there is none.
  int device_count() const;

  /// False if there were no devices when the driver was opened, there is no driver, or it belongs to
  /// the parent process.
  ISTHMUS_HIDDEN bool has_devices() const noexcept;
  /// False in a child of fork(): the driver belongs to the process that opened it.
  ISTHMUS_HIDDEN bool in_own_process() const noexcept;
  /// Throws UsageError unless in_own_process().
  ISTHMUS_HIDDEN void require_own_process() const;
  /// Throws Unavailable, which says why there is none, unless has_devices(); UsageError if the
  /// parent process has them.
  ISTHMUS_HIDDEN void require_devices() const;

  /// Throws DriverError (OutOfDeviceMemory for code 2) unless `result`, a CUresult, is 0.
  ///
  /// symbol_name  the function that returned it: "cuMemAlloc"
  void check(int result, std::string_view symbol_name,
             std::source_location location = std::source_location::current()) const;
  /// "CUDA_ERROR_INVALID_VALUE" for a CUresult; its number if the driver has no name for it.
  std::string name_of(int result) const;

  // The library uses the driver's functions by the next four. Programs can't, because no public
  // header defines Symbol.

  /// Calls a function and throws DriverError, OutOfDeviceMemory or (if it is missing) Unavailable;
  /// UsageError unless in_own_process().
  ///
  /// Use as: driver.call(symbol::mem_alloc)(&pointer, size_bytes);
  template <typename Function>
  ISTHMUS_HIDDEN CheckedCall<Function> call(
      const Symbol<Function>& symbol,
      std::source_location location = std::source_location::current()) const;
  /// The bare function, for destructors and for code that handles the result itself; null if
  /// missing.
  template <typename Function>
  ISTHMUS_HIDDEN Function raw(const Symbol<Function>& symbol) const noexcept;
  template <typename Function>
  ISTHMUS_HIDDEN bool has(const Symbol<Function>& symbol) const noexcept;

private:
  struct State;
  friend class DriverLoader;
  ISTHMUS_HIDDEN explicit Driver(std::shared_ptr<const State> state);
  template <typename Function>
  ISTHMUS_HIDDEN Function require(const Symbol<Function>& symbol) const;
  [[noreturn]] ISTHMUS_HIDDEN void missing(std::size_t slot) const;

  std::shared_ptr<const State> state_;
};

}  // namespace isthmus

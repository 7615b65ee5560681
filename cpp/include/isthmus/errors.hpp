// The kinds of failure. Everything that Isthmus throws is one of these.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>

#include <isthmus/export.h>

namespace isthmus {

/// The caller asked for something invalid: a size of zero, an index out of range, an unknown name.
/// The message names the wrong value and the valid ones. Nothing has been changed.
class ISTHMUS_API UsageError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

/// Something is missing on this machine: no driver, a driver too old, a missing symbol, no NVRTC.
class ISTHMUS_API Unavailable : public std::runtime_error {
public:
  /// what        what is missing, as a noun: "CUDA driver", "stream memory operations"
  /// why         why it is missing on this machine
  /// needs       what would provide it: "an NVIDIA driver for CUDA 12.2 or later"
  Unavailable(std::string what, std::string why, std::string needs);

  const std::string& capability() const noexcept { return capability_; }
  const std::string& reason() const noexcept { return reason_; }
  const std::string& needs() const noexcept { return needs_; }

private:
  std::string capability_;
  std::string reason_;
  std::string needs_;
};

/// The CUDA driver or NVRTC returned an error code.
class ISTHMUS_API DriverError : public std::runtime_error {
public:
  /// code        the CUresult (or nvrtcResult) as an integer
  /// code_name   its name: "CUDA_ERROR_INVALID_VALUE"
  /// symbol      the function that returned it: "cuMemAlloc"
  /// detail      what was being attempted, or the driver's own description; may be empty
  DriverError(int code, std::string code_name, std::string symbol, const std::string& detail,
              std::source_location location = std::source_location::current());

  int code() const noexcept { return code_; }
  const std::string& code_name() const noexcept { return code_name_; }
  const std::string& symbol() const noexcept { return symbol_; }
  const std::source_location& location() const noexcept { return location_; }

  /// True if the driver could not say whether the failed copy has ended. Then neither its source
  /// nor its target may be freed or reused before the process ends.
  bool memory_in_use() const noexcept { return memory_in_use_; }

  /// Throws an error of the same class, whose message ends with "; " and `more`.
  [[noreturn]] virtual void throw_adding(const std::string& more) const;
  /// Throws the same error for a copy that may still be running; the message says so.
  [[noreturn]] virtual void throw_of_memory_in_use() const;

protected:
  DriverError(const DriverError& error, const std::string& more, bool memory_in_use);

private:
  int code_;
  std::string code_name_;
  std::string symbol_;
  std::source_location location_;
  bool memory_in_use_ = false;
};

/// CUDA_ERROR_OUT_OF_MEMORY: the device, or pinned host memory, is exhausted.
class ISTHMUS_API OutOfDeviceMemory : public DriverError {
public:
  using DriverError::DriverError;

  [[noreturn]] void throw_adding(const std::string& more) const override;
  [[noreturn]] void throw_of_memory_in_use() const override;
};

/// The caller asked to stop a long operation, and it was stopped and undone.
class ISTHMUS_API Interrupted : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace isthmus

// Errors in destructors: they can't be thrown, so they are reported to a sink.
// Objects that a device may still use although it no longer answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "driver/driver.hpp"

namespace isthmus {

using CleanupSink = std::function<void(const std::string& message)>;

/// Replaces the sink for failed cleanups and returns the old one. May be called at any time, from
/// any thread; the sink must be thread-safe. The default prints one line on standard error, once.
CleanupSink set_cleanup_sink(CleanupSink sink);

/// Reports a failed cleanup. Silent for success, and if nothing was left to clean up: the process
/// is ending, or the context is already gone.
void report_cleanup(const Driver& driver, CUresult result, std::string_view symbol_name) noexcept;
/// Reports what else a destructor couldn't do.
void report_cleanup(const std::string& message) noexcept;

/// Registers an object that is never destroyed, for leak checkers. May be called from any thread.
void note_leaked(const void* object) noexcept;

/// Keeps an object until the process ends; it is never destroyed. May be called from any thread.
template <typename Object>
void keep_until_process_ends(std::unique_ptr<Object> object) noexcept {
  note_leaked(object.release());
}

}  // namespace isthmus

// What a destructor does with a failure: it can't throw, so it tells a sink.
#pragma once

#include <functional>
#include <string>

#include "driver/driver.hpp"

namespace isthmus {

using CleanupSink = std::function<void(const std::string& message)>;

/// Replaces the sink that hears of failed cleanups and returns the old one. May be called at any
/// time, from any thread; the sink itself must be thread-safe. At first: one line on standard
/// error, once.
CleanupSink set_cleanup_sink(CleanupSink sink);

/// Reports a failed cleanup. Silent for success and where nothing was left to clean: the process is
/// ending, or the context is already gone.
void report_cleanup(const Driver& driver, CUresult result, std::string_view symbol_name) noexcept;

}  // namespace isthmus

// How long the threads that help copies wait for the next one before they sleep.
#pragma once

#include <chrono>
#include <string>

namespace isthmus::window {

/// $ISTHMUS_SPIN_US, or host::kDefaultSpinTime if it isn't set.
///
/// Throws   UsageError if it isn't a whole number of microseconds up to 1,000,000.
std::chrono::microseconds spin_time();

/// The same of a value; "": the default.
std::chrono::microseconds spin_time_from(const std::string& microseconds);

}  // namespace isthmus::window

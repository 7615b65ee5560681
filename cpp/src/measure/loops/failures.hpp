// Failures of a measurement itself, besides the driver's errors.
#pragma once

#include <stdexcept>

namespace isthmus::measure {

/// The bytes that arrived aren't the bytes that were sent. All figures of this measurement are
/// void.
class CorruptTransfer : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Something took longer than its timeout: a held stream, or an answer from a running kernel. The
/// stream was released; what was being measured is void.
class TimedOut : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace isthmus::measure

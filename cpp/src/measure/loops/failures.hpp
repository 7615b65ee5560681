// What can go wrong with a measurement itself, beside the driver's own errors.
#pragma once

#include <stdexcept>

namespace isthmus::measure {

/// The bytes that arrived are not the bytes that were sent. No figure of this measurement counts.
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

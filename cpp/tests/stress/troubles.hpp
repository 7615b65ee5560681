// Disturbances of the copies: captures, failures, signals.
#pragma once

#include <thread>

#include "faults/emulator_controls.hpp"
#include "workplace.hpp"

namespace isthmus::stress {

/// Captures a stream repeatedly, in the mode that forbids unsafe calls to every thread, and checks
/// that no copy has ended a capture.
void capture_until_the_end(Workplace& place);

/// Makes a call of the emulated driver fail now and then.
void fail_calls_until_the_end(Workplace& place, std::uint64_t seed);

/// Sends signals to threads, which interrupts their system calls.
void signal_until_the_end(Workplace& place, const std::vector<pthread_t>& threads,
                          std::uint64_t seed);

}  // namespace isthmus::stress

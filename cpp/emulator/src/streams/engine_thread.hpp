// The threads that act as the device's engines.
#pragma once

#include <functional>

namespace isthmus::emulator {

/// Starts a thread that lives as long as the process.
///
/// It blocks all signals (Ctrl-C belongs to the program's own threads), and its sleeps end on time.
///
/// name        at most 15 characters
/// Returns     false if the system refuses a thread
[[nodiscard]] bool start_engine_thread(const char* name, std::function<void()> life);

}  // namespace isthmus::emulator

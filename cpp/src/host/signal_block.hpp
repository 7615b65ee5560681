// Threads of the library take no signals: those are for the program's own threads to handle.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace isthmus::host {

/// Blocks signals in the calling thread, and so in threads that it starts meanwhile. Not those of a
/// thread's own faults: blocked, they would kill a process that handles them.
class [[nodiscard]] ScopedSignalBlock {
public:
  ScopedSignalBlock() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &previous_);
  }
  ~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;

private:
  sigset_t previous_{};
};

}  // namespace isthmus::host

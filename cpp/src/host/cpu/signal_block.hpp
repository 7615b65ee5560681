// The library's threads take no signals: the program's own threads handle them.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace isthmus::host {

/// Blocks signals in the calling thread, and in threads that it starts meanwhile. Except those of a
/// thread's own faults: if blocked, they would kill a process that handles them.
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

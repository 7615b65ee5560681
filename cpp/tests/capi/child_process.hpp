// What happens in a child of fork().
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace isthmus::test {

/// Runs `body`, which returns an int from 0 to 255, in a child of fork(). Returns what it returned,
/// or the number of the signal that ended the child, negated.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// Makes a fault end this process by its signal: sanitizers put handlers of their own in the way.
inline void die_of_faults() {
  std::signal(SIGSEGV, SIG_DFL);
  std::signal(SIGBUS, SIG_DFL);
}

/// What loading a byte there does to a child of fork(): the number of the signal, or 0.
inline int signal_of_loading(const void* pointer) {
  return -in_child([pointer] {
    die_of_faults();
    static_cast<void>(*static_cast<const volatile char*>(pointer));
    return 0;
  });
}

}  // namespace isthmus::test

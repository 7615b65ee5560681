// Runs code in a child of fork().
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace isthmus::test {

/// Runs `body`, which returns an int from 0 to 255, in a child of fork(). Returns its result, or
/// the negated number of the signal that ended the child.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

/// Lets a fault end this process by its signal: sanitizers install their own handlers.
inline void die_of_faults() {
  std::signal(SIGSEGV, SIG_DFL);
  std::signal(SIGBUS, SIG_DFL);
}

/// The signal that a child of fork() gets when it loads a byte there, or 0.
inline int signal_of_loading(const void* pointer) {
  return -in_child([pointer] {
    die_of_faults();
    static_cast<void>(*static_cast<const volatile char*>(pointer));
    return 0;
  });
}

}  // namespace isthmus::test

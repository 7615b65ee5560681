// Checks in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace isthmus {

/// Runs `check` in a forked child, and returns true if it returned true. A child that hangs is
/// killed after 20 s; one that crashes or throws gives false. GoogleTest's macros have no effect
/// there.
inline bool holds_in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool held = false;
    try {
      held = check();
    } catch (...) {
    }
    _exit(held ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

}  // namespace isthmus

// What a forked child finds.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace isthmus::window {

/// Runs `check` in a forked child and returns whether it came back, with true. A child that hangs
/// is ended after 20 s; one that crashes or throws is false. GoogleTest's macros mean nothing in
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

}  // namespace isthmus::window

#include "bindings/gil.hpp"

#include <dlfcn.h>
#include <unistd.h>

namespace {

using Question = int (*)();

/// The function that says so. Its public name is that of CPython 3.13, and the stable ABI of 3.12
/// has neither.
Question find_is_finalizing() noexcept {
  void* const named = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  void* const found = named != nullptr ? named : dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
  return reinterpret_cast<Question>(found);
}

}  // namespace

void sleep_until_process_ends() noexcept {
  for (;;) pause();
}

void keep_thread_state() {
  if (PyGILState_GetThisThreadState() != nullptr) return;
  PyGILState_Ensure();
  PyEval_SaveThread();
}

bool interpreter_is_ending() noexcept {
  static const Question is_finalizing = find_is_finalizing();
  return Py_IsInitialized() == 0 || (is_finalizing != nullptr && is_finalizing() != 0);
}

bool signal_has_raised() {
  if (gettid() != getpid() || interpreter_is_ending()) return false;
  const GilHeld held;
  return into_python([] { return PyErr_CheckSignals(); }) != 0;
}

#include "gil.hpp"

#include <unistd.h>

void sleep_until_process_ends() noexcept {
  for (;;) pause();
}

void keep_thread_state() {
  if (PyGILState_GetThisThreadState() != nullptr) return;
  PyGILState_Ensure();
  PyEval_SaveThread();
}

bool interpreter_is_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

bool signal_has_raised() {
  if (gettid() != getpid() || interpreter_is_ending()) return false;
  const GilHeld held;
  return into_python([] { return PyErr_CheckSignals(); }) != 0;
}

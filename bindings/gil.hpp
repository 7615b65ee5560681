// The only way to release the GIL, to acquire it, and to call into Python.
//
// When the interpreter ends, CPython up to 3.13 ends each daemon thread that asks for the GIL, or
// runs Python code, by pthread_exit(): the C++ frames on its stack are unwound. Destructors that
// are noexcept, and handlers that catch everything (nanobind has both), turn that into abort().
// Here the thread stops where it is and sleeps until the process has ended, as CPython 3.14 does.
// Source: CPython 3.14, "What's New", C API: PyThreadState_Swap and others hang the thread.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <utility>

/// Never returns. The process ends without this thread.
[[noreturn]] void sleep_until_process_ends() noexcept;

/// Calls something that may run Python code. Outside of the bodies of bound functions all such
/// calls must go through here.
///
/// call        may throw C++ exceptions; they pass through
template <typename Call>
decltype(auto) into_python(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (const abi::__forced_unwind&) {
    sleep_until_process_ends();
  }
}

/// Releases the GIL during its life.
class [[nodiscard]] GilReleased {
public:
  GilReleased() noexcept : thread_(PyEval_SaveThread()) {}
  ~GilReleased() {
    into_python([this] { PyEval_RestoreThread(thread_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

private:
  PyThreadState* thread_;
};

/// Gives a native thread a Python thread state that lasts as long as the interpreter. Creating and
/// deleting one each time takes an interpreter lock without the GIL; in CPython before 3.11.10, a
/// child that is forked at that moment waits for that lock for ever. Source:
/// github.com/python/cpython, issue 112275.
void keep_thread_state();

/// Holds the GIL during its life, in any thread, even if that thread already has it.
class [[nodiscard]] GilHeld {
public:
  GilHeld() noexcept {
    into_python([this] {
      keep_thread_state();
      state_ = PyGILState_Ensure();
    });
  }
  ~GilHeld() { PyGILState_Release(state_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

private:
  PyGILState_STATE state_{};
};

/// For nanobind: a function that runs without the GIL.
using Release = nanobind::call_guard<GilReleased>;

/// True once the interpreter has begun to end.
bool interpreter_is_ending() noexcept;

/// True if a signal handler has raised, as Ctrl-C's does; its exception is then pending. Always
/// false in threads other than the process's first, which handle no signals. Called without the
/// GIL.
bool signal_has_raised();

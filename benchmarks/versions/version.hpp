// What the program that gives turns asks of a version of the library: plain data and C functions,
// since both are compiled apart and several versions lie in one process.
#pragma once

#include <cstddef>

/// What is timed.
enum class Call {
  copy,        ///< Transfers::copy
  copy_async,  ///< Transfers::copy_async, and the wait for it
  window,      ///< Window::write, Window::read
  pool,        ///< PinnedPool::allocate, and free
};

/// One call of the library, in all that it depends on.
struct Request {
  Call call = Call::copy;
  bool upload = true;
  bool pinned = false;  ///< the host's memory, for a copy
  std::size_t size_bytes = 0;
  const char* path = "";  ///< of a copy; "": the library chooses
  bool told = false;      ///< what kinds of memory they are
  bool ordered = true;
  int num_threads = 1;  ///< of a window
};

/// What all versions copy between. Each end has at least the bytes of the largest request.
struct Memory {
  void* device = nullptr;
  void* pageable = nullptr;
  void* pinned = nullptr;
  std::size_t window_bytes = 0;  ///< of the device's memory, that windows are opened on
};

// Failures are told on stderr: no exception may leave a version.
#pragma GCC visibility push(default)
extern "C" {
/// Gives a version's own Transfers, windows and pool; null if that failed.
void* version_open(const Memory* memory);
void version_close(void* version);
/// Gives the seconds of one of `num_calls` calls, back to back; negative if one failed.
double version_sample(void* version, const Request* request, std::size_t num_calls);
}
#pragma GCC visibility pop

// The interface of a version of the library to the program that takes turns: plain data and C
// functions, since both are compiled separately and several versions are loaded into one process.
#pragma once

#include <cstddef>

/// What is timed.
enum class Call {
  copy,        ///< Transfers::copy
  copy_async,  ///< Transfers::copy_async, including the wait
  window,      ///< Window::write, Window::read
  pool,        ///< PinnedPool::allocate and free
};

/// One call of the library, with all its parameters.
struct Request {
  Call call = Call::copy;
  bool upload = true;
  bool pinned = false;  ///< the kind of host memory, for a copy
  std::size_t size_bytes = 0;
  const char* path = "";  ///< of a copy; "": the library chooses
  bool told = false;      ///< whether the call is told the kinds of memory
  bool ordered = true;
  int num_threads = 1;  ///< of a window
};

/// The memory that all versions use. Each end is at least as large as the largest request.
struct Memory {
  void* device = nullptr;
  void* pageable = nullptr;
  void* pinned = nullptr;
  std::size_t window_bytes = 0;  ///< the part of device memory that windows are opened on
};

// Failures are printed to stderr: no exception may leave a version.
#pragma GCC visibility push(default)
extern "C" {
/// Creates a version's own Transfers, windows and pool; null if that failed.
void* version_open(const Memory* memory);
void version_close(void* version);
/// Returns the seconds of one call, from `num_calls` back to back; negative if one failed.
double version_sample(void* version, const Request* request, std::size_t num_calls);
}
#pragma GCC visibility pop

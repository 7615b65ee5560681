// What this library knows of each thread. Thread-local storage holds a pointer alone: an auditor's namespace has room for
// little more.
#pragma once

#include "preload/reading.hpp"

namespace isthmus::preload {

/// The kind of memory on a page, as long as `epoch` holds.
struct KnownKind {
  uintptr_t page;
  u32 epoch;
  Kind kind;
};
/// Whether a Python function's file is a library's.
struct KnownCode {
  const unsigned char* code;
  const unsigned char* file;
  bool is_library;
};
/// A context that was compared with its device's primary one. Ids are never used again.
struct KnownContext {
  bool is_known;
  u64 id;
  bool is_primary;
  CUdevice device;
};
/// The last call of a thread, if it was an asynchronous copy: a wait that follows waits for nothing else.
struct LastCopy {
  bool is_last;
  CUstream stream;
  u64 launches;
};

struct Thread {
  ThreadRow* row;
  u16 number;
  bool is_own;  ///< false: threads beyond the table share their row, and this
  CallRow* last_row;
  LastCopy last_copy;
  KnownContext context;
  u64 short_calls;
  u64 site_debts_ns[2];  ///< for native sites: of calls that weren't hidden, and of hidden ones
  KnownKind kinds[64];
  KnownCode codes[64];
};

/// Null until this thread's first call, and for threads that share their row.
extern __thread Thread* own_thread __attribute__((tls_model("initial-exec")));

/// Null if nothing is counted.
Thread* this_thread();

}  // namespace isthmus::preload

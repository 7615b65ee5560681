// The entry points that are watched, and what is known of each before the first call.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaTypedefs.h>

#include "preload/counters.hpp"

namespace isthmus::preload {

struct Entry {
  const char* name;
  void* exported;  ///< what programs are linked with
  void* given;     ///< what the program gets if it asks: the same, unless others lie between
  void* apart;     ///< what it gets then
  void** linked;   ///< where `exported` jumps to: the wrapper, or what others have put between
  void* real;      ///< null until the driver is bound
  EntryClass entry_class;
  bool asynchronous;  ///< its name says so: it may return before the bytes have moved
  bool per_thread;    ///< its default stream is the thread's own
};

enum EntryId : int {
#define ISTHMUS_ENTRY(symbol, type, entry_class, read) k_##symbol,
#include "preload/entries.inc"
#undef ISTHMUS_ENTRY
  kNumEntries
};
static_assert(kNumEntries <= static_cast<int>(Layout::entries_capacity));

extern Entry entries[kNumEntries];

/// Null if no such entry point is watched.
Entry* entry_named(const char* name);

}  // namespace isthmus::preload

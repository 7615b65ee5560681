// Where calls are counted: the file of counters of this process.
#pragma once

#include <time.h>

#include "preload/entries.hpp"
#include "preload/reading.hpp"
#include "preload/threads.hpp"

namespace isthmus::preload {

/// What a call took.
struct Taken {
  u64 begin_ns = 0;  ///< CLOCK_MONOTONIC; 0: nothing was counted yet
  u64 ns = 0;        ///< in all
  u64 wait_ns = 0;   ///< of these until earlier work in the stream was complete
  bool captured = false;
  bool failed = false;
  bool hidden = false;    ///< see CallRow.hidden
  bool done = false;      ///< by the engine: the driver isn't to be called
  bool replaced = false;  ///< by the engine, or it would have been
  u32 site = 0;           ///< see CallRow.site
};

/// What one of the kernel's clocks says.
u64 clock_ns(clockid_t clock);
/// CLOCK_MONOTONIC, as near as a few millionths of the time since begin_clock().
u64 now_ns();
void begin_clock();
/// Not below 0, also if the counters of two CPUs differ.
inline u64 ns_since(u64 begin_ns) {
  const u64 now = now_ns();
  return now > begin_ns ? now - begin_ns : 0;
}

/// Opens this process's file; without a folder, or without space for it, counts in memory.
void begin_counting();
/// In a forked child: the parent's counters must not be written, and its engine not be used.
void leave_parents_counters();
/// The child's own counters, from its first call on: most children make none, and need no file. By one
/// thread at a time.
void begin_counting_in_child();

/// Null before begin_counting().
extern Header* header;

void count_launch();
void count_call(Thread& thread, const Entry& entry, const What& what, const Taken& taken);
/// Counts a long upload whose bytes may have been copied before. Reads some of them.
void count_repeat(const What& what, u64 ns, u32 site);
void note_engine(const char* reason, bool is_failure);

/// A site's row, and whether the caller is to fill it in.
struct SitePlace {
  SiteRow* row;
  u32 number;
  bool is_new;  ///< set row->ready once it is filled in
};
/// The place of all calls with this key. Number 0: there is no room.
SitePlace site_place(u64 key);

/// The tables of this process's file. Set once: a forked child has its own file at the same address.
struct Tables {
  ThreadRow* threads;
  CallRow* rows;
  SiteRow* sites;
  RepeatRow* repeats;
  Event* events;
};
extern Tables tables;

}  // namespace isthmus::preload

// What `isthmus watch` and `isthmus exec` hand over in the environment.
#pragma once

#include "preload/counters.hpp"

namespace isthmus::preload {

enum class Exec : u32 { off, on, audit };

struct Settings {
  char folder[4096];    ///< ISTHMUS_WATCH_FOLDER: where counters go; "" counts nowhere
  u64 events;           ///< ISTHMUS_WATCH_EVENTS: room for so many in the timeline
  u64 sites;            ///< ISTHMUS_WATCH_SITES: of one in so many short copies; 0: no sites at all
  Exec exec;            ///< ISTHMUS_EXEC: on, audit; anything else is off
  char engine[4096];    ///< ISTHMUS_EXEC_LIBRARY
  u64 min_up;           ///< ISTHMUS_EXEC_UP: bytes from which uploads are replaced
  u64 min_down;         ///< ISTHMUS_EXEC_DOWN
  char only[256];       ///< ISTHMUS_EXEC_ONLY: an entry point, or a part of a site's text
  char off_path[4096];  ///< ISTHMUS_EXEC_OFF: executables with this in their path are left alone
  bool pins;            ///< ISTHMUS_EXEC_PIN=1: pinned memory comes from the engine's pool
};
extern Settings settings;

/// Once: when the library is loaded, before the program can change its environment, or when the driver
/// is bound if a constructor calls it before.
void read_settings();

}  // namespace isthmus::preload

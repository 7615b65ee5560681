// The engine: a library apart, opened when it is first needed.
#pragma once

#include "capi/exec_engine.h"
#include "preload/counters.hpp"

namespace isthmus::preload {

struct Engine {
  decltype(&isthmus_exec_copy) copy;
  decltype(&isthmus_exec_pin) pin;
  decltype(&isthmus_exec_unpin) unpin;
};

/// Opens it; null while another thread does, or if it can't be opened, which is noted.
const Engine* opened_engine();
/// Null unless it has been opened.
const Engine* engine_if_open();

}  // namespace isthmus::preload

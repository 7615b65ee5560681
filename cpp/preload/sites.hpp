// Where in the program a call comes from.
#pragma once

#include "preload/counting.hpp"

namespace isthmus::preload {

/// The site of the call that this thread is making: of the innermost Python frame that is no
/// library's. Takes no lock of Python's, and calls nothing of it. 0: this thread runs no Python.
u32 python_site(Thread& thread);

/// Of the innermost native frame outside CUDA's libraries, in some microseconds. 0: unknown.
u32 native_site();

}  // namespace isthmus::preload

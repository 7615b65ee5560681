// Where in the program a call comes from.
#pragma once

#include "preload/counting.hpp"

namespace isthmus::preload {

/// The site of the call that this thread is making: of the innermost Python frame that is no
/// library's, or else of the innermost native one outside CUDA's libraries. Takes no lock of
/// Python's, and calls nothing of it. 0: unknown.
u32 site_here(Thread& thread);

/// The same by Python's frames alone; 0 if this thread runs no Python.
u32 python_site(Thread& thread);

}  // namespace isthmus::preload

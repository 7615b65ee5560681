// Exports everything that cuda.h declares, so that our definitions are checked against its ABI.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

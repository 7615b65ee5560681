// Copies that the engine makes instead of the driver.
#pragma once

#include "preload/counting.hpp"

namespace isthmus::preload {

/// True if a copy between pageable memory and a device is one that the engine could make.
bool is_replaceable(const What& what);

enum class Replaced { no, would_be, done };

/// Makes a replaceable copy whose stream's earlier work is complete; complete on return. Unless it
/// is done, the copy is the driver's to make, and nothing but bytes of the target has changed.
Replaced replace(const Entry& entry, const What& what);

/// Gives pinned memory from the engine's pool, if that is wanted and possible, to where `what.to` says.
bool pin(const What& what);
/// Takes memory of the pool back. False: it is the driver's.
bool unpin(const What& what);

/// Captures of any stream in this process that have begun and not ended.
int num_captures();

/// From now on all copies are the driver's.
void stop_replacing(const char* why);

}  // namespace isthmus::preload

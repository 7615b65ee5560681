// What kernels read and write on the other side of the link, in modelled time. The kernels say it
// themselves, by the functions at the end of this file. Source: kernels/portable.cuh.
#pragma once

#include <cstdint>

#include "machine/clock.hpp"

namespace isthmus::emulator {

/// Begins the account of the kernel that this thread runs next, on the device of that ordinal.
void begin_kernel(int ordinal);

/// When the last noted byte arrives; in the past for a kernel without traffic.
Time traffic_end();

}  // namespace isthmus::emulator

/// The kernel accesses these bytes from now on. If they are on the other side of the link, it lasts
/// at least the modelled time for them. A latency is part of it, unless bytes were noted before that
/// cross in the same direction and weren't awaited: many lanes access them at once.
void isthmus_note_read(const void* source, std::uint64_t size_bytes);
void isthmus_note_write(const void* target, std::uint64_t size_bytes);
/// Waits until all that was noted has crossed: what the kernel accesses next depends on it.
void isthmus_await_traffic();

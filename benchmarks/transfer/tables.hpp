// The tables that transfer_details prints, one function each.
#pragma once

#include <cstddef>
#include <vector>

#include "arena.hpp"
#include "rows.hpp"

inline constexpr std::size_t kKib = 1024;
inline constexpr std::size_t kMib = kKib * kKib;

/// Every size from 1 B on, both ways, both kinds of host memory: the copy call beside cudaMemcpy.
std::vector<Row> sweep(Arena& arena);
/// The same for a few sizes from 64 KiB on, from and to pageable memory: for few cores.
std::vector<Row> large_copies(Arena& arena);
/// Every path by itself and the one that is chosen, over size, way and kind.
std::vector<Row> choice_grid(Arena& arena);
/// Copies of 4 B to 64 KiB beside the window they go through.
std::vector<Row> small_copies(Arena& arena);
/// For each line "h2d" or "d2h" on the standard input: the seconds of a copy, of a burst of them.
void answer_calls(Arena& arena, std::size_t size_bytes);
/// Pinning, the pool, and cuMemHostAlloc.
std::vector<Row> pinning(Arena& arena);

// The tables that transfer_details prints, one function each.
#pragma once

#include <cstddef>
#include <vector>

#include "arena.hpp"
#include "rows.hpp"

inline constexpr std::size_t kKib = 1024;
inline constexpr std::size_t kMib = kKib * kKib;

/// Every size from 1 B on, both directions, both kinds of host memory: the copy call beside
/// cudaMemcpy.
std::vector<Row> sweep(Arena& arena);
/// The same for a few sizes from 64 KiB on, with pageable memory: for machines with few cores.
std::vector<Row> large_copies(Arena& arena);
/// Copies of 4 B to 64 KiB, beside the window that they use.
std::vector<Row> small_copies(Arena& arena);
/// For each line "h2d" or "d2h" on standard input: the seconds of one copy, averaged over a burst.
void answer_calls(Arena& arena, std::size_t size_bytes);
/// Pinning, the pool, and cuMemHostAlloc.
std::vector<Row> pinning(Arena& arena);

// The test pattern: incompressible bytes that either side of the link can compute for any position.
// Word i is SplitMix64's i-th output from `seed` (Steele, Lea, Flood, OOPSLA 2014), little-endian.
#pragma once

#include "portable.cuh"

__device__ inline uint64_t isthmus_pattern_word(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Added to the count by each check that has run; more than any count of mismatches.
#define ISTHMUS_PATTERN_CHECKED (1ull << 62)

// A fixed random order of pages, in which each page comes exactly once, and which needs no memory:
// any lane computes the page of any turn.
//
// Each step below maps the numbers of so many bits one to one onto themselves, so all of them
// together do, too. A number that is no page is mapped again until it is one: "cycle walking", in
// Black and Rogaway, Ciphers with Arbitrary Finite Domains, CT-RSA 2002.
//
// Three compilers read this file: NVRTC, that of the emulated driver's kernels, and that of the
// simulator's traces (workloads/recording/managed_access.cpp), so that there is one source of the order.
#pragma once

#if defined(__CUDACC__) || defined(ISTHMUS_HOST_KERNELS)
#include "portable.cuh"
#define ISTHMUS_KERNEL_FUNCTION __device__ inline
#else
#include <cstdint>
using std::uint32_t;
using std::uint64_t;
#define ISTHMUS_KERNEL_FUNCTION inline
#endif

struct IsthmusPageOrder {
  uint64_t num_pages;
  uint64_t mask;   // of the bits that number the pages
  uint32_t shift;  // half of the bits, and at least one
};

/// num_pages   1 to 2^63
ISTHMUS_KERNEL_FUNCTION IsthmusPageOrder isthmus_page_order(uint64_t num_pages) {
  IsthmusPageOrder order{num_pages, 0, 1};
  uint32_t num_bits = 0;
  for (; order.mask < num_pages - 1; ++num_bits) order.mask = order.mask * 2 + 1;
  if (num_bits > 2) order.shift = num_bits / 2;
  return order;
}

/// The page of a turn; both 0 to num_pages - 1.
ISTHMUS_KERNEL_FUNCTION uint64_t isthmus_page_of_turn(const IsthmusPageOrder& order,
                                                      uint64_t turn) {
  uint64_t page = turn;
  do {
    page = (page * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull) & order.mask;
    page ^= page >> order.shift;
    page = page * 0xbf58476d1ce4e5b9ull & order.mask;
    page ^= page >> order.shift;
    page = page * 0x94d049bb133111ebull & order.mask;
    page ^= page >> order.shift;
  } while (page >= order.num_pages);
  return page;
}

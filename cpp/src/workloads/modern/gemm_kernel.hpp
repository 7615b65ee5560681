// Tiled matrix multiplication: a CTA computes 64 x 64 elements of the product, 4 x 4 in each
// thread, and steps through both factors 16 columns and rows at a time, which it keeps in shared
// memory.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

/// Four elements of a row.
struct alignas(16) GemmPart {
  float values[4];
};

struct GemmArguments {
  Array<GemmPart> left;     ///< [rows][depth / 4]
  Array<GemmPart> right;    ///< [depth][columns / 4]
  Array<GemmPart> product;  ///< [rows][columns / 4]
  unsigned depth;           ///< a multiple of 16
  unsigned num_columns;     ///< a multiple of 64, like the number of rows
};

inline constexpr unsigned kGemmTile = 64;   ///< rows and columns of a CTA's tile
inline constexpr unsigned kGemmDepth = 16;  ///< of a step
inline constexpr unsigned kGemmThreads = kGemmTile / 4 * (kGemmTile / 4);
static_assert(kGemmThreads == kGemmTile * kGemmDepth / 4, "a thread loads a part of each factor");

// Instructions of a thread, counted by hand.
inline constexpr unsigned kGemmSetUp = 30;
inline constexpr unsigned kGemmLoad = 12;  ///< addresses, five stores to shared memory
inline constexpr unsigned kGemmStep =
    kGemmDepth * 18 + 4;  ///< per column 16 multiply-adds, 2 loads of 4 from shared memory, loop
inline constexpr unsigned kGemmStore = 2;

/// A thread's elements.
struct GemmSums {
  float values[4][4];
};

template <class Cta>
struct GemmThread {
  typename Cta::template Value<GemmSums> sums;
};

/// left        in shared memory: [step's depth][tile], transposed so that rows are adjacent
/// right       in shared memory: [step's depth][tile]
template <class Warp>
void gemm_load(Warp& warp, const GemmArguments& in, unsigned cta, unsigned depth, float* left,
               float* right) {
  const unsigned num_parts = in.num_columns / 4;
  const unsigned first_row = cta / (in.num_columns / kGemmTile) * kGemmTile;
  const unsigned first_part = cta % (in.num_columns / kGemmTile) * (kGemmTile / 4);
  const auto row = warp.thread() / (kGemmDepth / 4);
  const auto left_part = warp.thread() % (kGemmDepth / 4);
  const auto column = warp.thread() / (kGemmTile / 4);
  const auto right_part = warp.thread() % (kGemmTile / 4);
  const auto of_left =
      warp.load(in.left, (row + first_row) * (in.depth / 4) + left_part + depth / 4);
  const auto of_right = warp.load(in.right, (column + depth) * num_parts + right_part + first_part);
  for (unsigned i = 0; i < 4; ++i) {
    const auto element = [i](const GemmPart& part) { return part.values[i]; };
    warp.write(left, (left_part * 4 + i) * kGemmTile + row, warp.map(element, of_left));
    warp.write(right, column * kGemmTile + right_part * 4 + i, warp.map(element, of_right));
  }
  warp.compute(kGemmLoad);
}

template <class Warp, class Sums>
void gemm_add(Warp& warp, const float* left, const float* right, Sums& sums) {
  sums = warp.map(
      [left, right](GemmSums sum, unsigned row, unsigned column) {
        for (unsigned k = 0; k < kGemmDepth; ++k)
          for (unsigned i = 0; i < 4; ++i)
            for (unsigned j = 0; j < 4; ++j)
              sum.values[i][j] += left[k * kGemmTile + row + i] * right[k * kGemmTile + column + j];
        return sum;
      },
      sums, warp.thread() / (kGemmTile / 4) * 4, warp.thread() % (kGemmTile / 4) * 4);
  warp.compute(kGemmStep);
}

template <class Warp, class Sums>
void gemm_store(Warp& warp, const GemmArguments& in, unsigned cta, const Sums& sums) {
  const unsigned num_parts = in.num_columns / 4;
  const unsigned first_row = cta / (in.num_columns / kGemmTile) * kGemmTile;
  const unsigned first_part = cta % (in.num_columns / kGemmTile) * (kGemmTile / 4);
  const auto row = warp.thread() / (kGemmTile / 4) * 4 + first_row;
  const auto part = warp.thread() % (kGemmTile / 4) + first_part;
  for (unsigned i = 0; i < 4; ++i) {
    const auto own_row = [i](const GemmSums& sum) {
      return GemmPart{{sum.values[i][0], sum.values[i][1], sum.values[i][2], sum.values[i][3]}};
    };
    warp.compute(kGemmStore);
    warp.store(in.product, (row + i) * num_parts + part, warp.map(own_row, sums));
  }
}

template <class Cta>
void gemm_tile(Cta& cta, const GemmArguments& in) {
  auto* left = cta.template shared<float>(kGemmDepth * kGemmTile);
  auto* right = cta.template shared<float>(kGemmDepth * kGemmTile);
  auto states = cta.template per_warp<GemmThread<Cta>>();
  cta.each_warp([&](auto& warp) {
    states[warp.index()].sums = warp.lanes(GemmSums{});
    warp.compute(kGemmSetUp);
  });
  for (unsigned depth = 0; depth < in.depth; depth += kGemmDepth) {
    cta.each_warp([&](auto& warp) { gemm_load(warp, in, cta.index(), depth, left, right); });
    cta.barrier();
    cta.each_warp([&](auto& warp) { gemm_add(warp, left, right, states[warp.index()].sums); });
    cta.barrier();
  }
  cta.each_warp([&](auto& warp) { gemm_store(warp, in, cta.index(), states[warp.index()].sums); });
}

}  // namespace isthmus::workloads

// A layer of experts: each token goes through a few of many small networks, and gets the weighted
// sum of what they give. An expert is silu(gate x) * (up x), then down: three matrices of bfloat16.
// Three launches for a batch of tokens: gate and up, down, and the sums. A CTA has some rows of an
// expert's matrices and up to eight of the expert's tokens, whose inputs are in shared memory; a
// warp has one row at a time.
//
// Source      the layer: Shazeer 2017; the experts: Mixtral. A tile for tokens of one expert, as
//             in vLLM's fused_moe, but on rows without tensor cores
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

inline constexpr unsigned kMoeTokens = 8;  ///< in a tile
inline constexpr unsigned kMoeWarps = 4;
inline constexpr unsigned kMoeThreads = 32 * kMoeWarps;
inline constexpr unsigned kMoeRows = 32;      ///< of a CTA
inline constexpr unsigned kMoeColumns = 256;  ///< widths are multiples: what a warp loads at once

/// Eight adjacent weights of a row; bfloat16.
struct alignas(16) MoePart {
  unsigned short values[8];
};

/// Some tokens of one expert.
struct MoeTile {
  unsigned expert;
  unsigned num_slots;
  unsigned slots[kMoeTokens];  ///< a token's number in its batch times `chosen`, and its choice
  float shares[kMoeTokens];    ///< of the expert in the token's sum
};

struct MoeArguments {
  Array<MoePart>
      weights;           ///< [experts][gate: inner x width, up: inner x width, down: width x inner]
  Array<float> inputs;   ///< [tokens][width]
  Array<float> hidden;   ///< [slots][inner]
  Array<float> parts;    ///< [slots][width], of the outputs
  Array<float> outputs;  ///< [tokens][width]
  const MoeTile* tiles;  ///< of this batch; constant memory
  unsigned chosen;       ///< experts of a token
  unsigned width;
  unsigned inner;
};

/// One number for each token of a tile.
struct MoeSums {
  float values[kMoeTokens];
};

// Instructions of a thread, counted in the source.
inline constexpr unsigned kMoeSetUp = 24;
inline constexpr unsigned kMoeLoad = 5;      ///< address, store to shared memory, loop
inline constexpr unsigned kMoeWeights = 12;  ///< eight conversions, address, loop
inline constexpr unsigned kMoeToken = 10;    ///< eight products, two loads from shared memory
inline constexpr unsigned kMoeSum = 11;      ///< of the lanes: five steps, choice of a token
inline constexpr unsigned kMoeHidden = 16;   ///< exponential, division, products, address
inline constexpr unsigned kMoePart = 4;
inline constexpr unsigned kMoeOutput = 5;  ///< for an expert: address, sum, loop

inline float moe_number(unsigned short bits) {
  return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16U);
}

/// A CTA's tile and its first row.
struct MoePlace {
  const MoeTile* tile;
  unsigned first_row;
};

inline MoePlace moe_place(const MoeArguments& in, unsigned cta, unsigned num_rows) {
  const unsigned ctas_of_tile = num_rows / kMoeRows;
  return {in.tiles + cta / ctas_of_tile, cta % ctas_of_tile * kMoeRows};
}

/// The tokens' vectors to shared memory: [tokens][width].
///
/// divisor     of a slot's number, for that of its vector
template <class Warp>
void moe_load(Warp& warp, const Array<float>& vectors, const MoeTile& tile, unsigned divisor,
              unsigned width, float* shared) {
  for (unsigned token = 0; token < tile.num_slots; ++token)
    for (unsigned first = 0; first < width; first += kMoeThreads) {
      const auto column = warp.thread() + first;
      warp.compute(kMoeLoad);
      warp.write(shared, column + token * width,
                 warp.load(vectors, column + tile.slots[token] / divisor * width));
    }
}

/// Adds the products of a lane's part of a row with each token's vector.
template <class Warp, class Parts, class Index, class Sums>
void moe_add(Warp& warp, const Parts& parts, const Index& part, const float* shared,
             unsigned num_tokens, unsigned width, Sums& sums) {
  sums = warp.map(
      [=](MoeSums sum, const MoePart& own, unsigned at) {
        for (unsigned token = 0; token < num_tokens; ++token)
          for (unsigned i = 0; i < 8; ++i)
            sum.values[token] += shared[token * width + at * 8 + i] * moe_number(own.values[i]);
        return sum;
      },
      sums, parts, part);
  warp.compute(kMoeWeights + num_tokens * kMoeToken);
}

template <class Warp, class Sums>
auto moe_sum(Warp& warp, const Sums& sums, unsigned token) {
  warp.compute(kMoeSum);
  return warp.sum_of_lanes(
      warp.map([token](const MoeSums& sum) { return sum.values[token]; }, sums));
}

/// One row of gate and of up, for all tokens of the tile.
template <class Warp>
void moe_hidden_row(Warp& warp, const MoeArguments& in, const MoeTile& tile, unsigned row,
                    const float* shared) {
  const unsigned parts_of_row = in.width / 8;
  const unsigned gate = (tile.expert * 3 * in.inner + row) * parts_of_row;
  const unsigned up = gate + in.inner * parts_of_row;
  auto gates = warp.lanes(MoeSums{});
  auto ups = warp.lanes(MoeSums{});
  for (unsigned first = 0; first < parts_of_row; first += 32) {
    const auto part = warp.lane() + first;
    moe_add(warp, warp.load(in.weights, part + gate), part, shared, tile.num_slots, in.width,
            gates);
    moe_add(warp, warp.load(in.weights, part + up), part, shared, tile.num_slots, in.width, ups);
  }
  for (unsigned token = 0; token < tile.num_slots; ++token) {
    const auto value = warp.map([](float g, float u) { return g / (1 + expf(-g)) * u; },
                                moe_sum(warp, gates, token), moe_sum(warp, ups, token));
    warp.compute(kMoeHidden);
    warp.when(warp.lane() == 0, [&] {
      warp.store(in.hidden, warp.lanes(tile.slots[token] * in.inner + row), value);
    });
  }
}

/// One row of down, for all tokens of the tile.
template <class Warp>
void moe_output_row(Warp& warp, const MoeArguments& in, const MoeTile& tile, unsigned row,
                    const float* shared) {
  const unsigned parts_of_row = in.inner / 8;
  const unsigned down = (tile.expert * 3 + 2) * (in.inner * (in.width / 8)) + row * parts_of_row;
  auto sums = warp.lanes(MoeSums{});
  for (unsigned first = 0; first < parts_of_row; first += 32) {
    const auto part = warp.lane() + first;
    moe_add(warp, warp.load(in.weights, part + down), part, shared, tile.num_slots, in.inner, sums);
  }
  for (unsigned token = 0; token < tile.num_slots; ++token) {
    const auto value = moe_sum(warp, sums, token) * tile.shares[token];
    warp.compute(kMoePart);
    warp.when(warp.lane() == 0,
              [&] { warp.store(in.parts, warp.lanes(tile.slots[token] * in.width + row), value); });
  }
}

template <class Cta>
void moe_hidden(Cta& cta, const MoeArguments& in) {
  float* shared = cta.template shared<float>(kMoeTokens * in.width);
  const MoePlace place = moe_place(in, cta.index(), in.inner);
  cta.each_warp([&](auto& warp) {
    warp.compute(kMoeSetUp);
    moe_load(warp, in.inputs, *place.tile, in.chosen, in.width, shared);
  });
  cta.barrier();
  cta.each_warp([&](auto& warp) {
    for (unsigned row = warp.index(); row < kMoeRows; row += kMoeWarps)
      moe_hidden_row(warp, in, *place.tile, place.first_row + row, shared);
  });
}

template <class Cta>
void moe_down(Cta& cta, const MoeArguments& in) {
  float* shared = cta.template shared<float>(kMoeTokens * in.inner);
  const MoePlace place = moe_place(in, cta.index(), in.width);
  cta.each_warp([&](auto& warp) {
    warp.compute(kMoeSetUp);
    moe_load(warp, in.hidden, *place.tile, 1, in.inner, shared);
  });
  cta.barrier();
  cta.each_warp([&](auto& warp) {
    for (unsigned row = warp.index(); row < kMoeRows; row += kMoeWarps)
      moe_output_row(warp, in, *place.tile, place.first_row + row, shared);
  });
}

/// A thread has one number of a token.
template <class Cta>
void moe_outputs(Cta& cta, const MoeArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto at = warp.thread() + cta.index() * kMoeThreads;
    const unsigned token = cta.index() * kMoeThreads / in.width;  // widths are multiples of 256
    const auto column = at - token * in.width;
    auto sum = warp.lanes(0.0F);
    warp.compute(kMoeSetUp);
    for (unsigned choice = 0; choice < in.chosen; ++choice) {
      sum = sum + warp.load(in.parts, column + (token * in.chosen + choice) * in.width);
      warp.compute(kMoeOutput);
    }
    warp.store(in.outputs, at, sum);
  });
}

}  // namespace isthmus::workloads

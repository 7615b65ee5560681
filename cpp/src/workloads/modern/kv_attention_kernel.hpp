// Attention of one new token per sequence over the keys and values of its earlier tokens. These are
// in a cache of blocks of 16 tokens, anywhere in the cache, found through the sequence's block
// table. A CTA has one sequence and one key/value head, which four query heads share.
//
// Layout      Kwon et al.: Efficient memory management for large language model serving with
//             PagedAttention, SOSP 2023
#pragma once

#include "workloads/recording/array.hpp"
#include "workloads/recording/kernel_math.hpp"

namespace isthmus::workloads {

inline constexpr unsigned kKvBlockTokens = 16;
inline constexpr unsigned kKvDimensions = 128;  ///< in a head
inline constexpr unsigned kKvQueries = 4;       ///< query heads for each key/value head
inline constexpr unsigned kKvWarps = 4;         ///< in a CTA
inline constexpr unsigned kKvThreads = 32 * kKvWarps;
inline constexpr unsigned kKvMaxTokens = 2048;  ///< the most for which shared memory has room

/// Eight dimensions of a token's key; bfloat16.
struct alignas(16) KvKeyPart {
  unsigned short values[8];
};
/// Four dimensions of a token's value; bfloat16.
struct alignas(8) KvValuePart {
  unsigned short values[4];
};
inline constexpr unsigned kKvKeyParts = kKvDimensions / 8;
inline constexpr unsigned kKvValueParts = kKvDimensions / 4;

struct KvAttentionArguments {
  Array<float> queries;          ///< [sequences][heads][queries][dimensions]
  Array<KvKeyPart> keys;         ///< [blocks][heads][key parts][block tokens]
  Array<KvValuePart> values;     ///< [blocks][heads][block tokens][value parts]
  Array<unsigned> block_tables;  ///< [sequences][max_blocks]
  Array<unsigned> num_tokens;    ///< [sequences]
  Array<float> outputs;          ///< like queries
  unsigned num_heads;            ///< key/value heads
  unsigned max_blocks;           ///< in a sequence
};

/// The CTA's shared memory. Each array is written in one section and read in later ones.
struct KvShared {
  float* queries;  ///< [queries][dimensions]
  float* scores;   ///< [queries][most tokens]; later their exponentials
  float* largest;  ///< [threads]
  float* sums;     ///< [threads]
  float* outputs;  ///< [warps][queries][dimensions]
};

/// One number for each query head.
struct KvScores {
  float values[kKvQueries];
};
/// A thread's four dimensions of each query head.
struct KvOutput {
  float values[kKvQueries][4];
};

template <class Cta>
struct KvThread {
  typename Cta::template Value<unsigned> num_tokens;
};

// Instructions of a thread, counted by hand.
inline constexpr unsigned kKvSetUp = 20;
inline constexpr unsigned kKvQuery = 4;     ///< address, store to shared memory
inline constexpr unsigned kKvToken = 24;    ///< addresses, scaling and storing of scores, loop
inline constexpr unsigned kKvKeyPart = 49;  ///< 8 conversions, 32 multiply-adds, 8 loads, address
inline constexpr unsigned kKvScore = 4;     ///< for a maximum: load, maximum, address, loop
inline constexpr unsigned kKvExp = 12;      ///< exponential, load, store, sum, loop
inline constexpr unsigned kKvBlock = 8;     ///< address, loop
inline constexpr unsigned kKvValue = 28;    ///< 4 conversions, 16 multiply-adds, 4 loads, address
inline constexpr unsigned kKvPartial = 16;  ///< stores to shared memory
inline constexpr unsigned kKvOutput = 12;   ///< sums over four warps, division, address

/// The number of a bfloat16: a float without its lower half.
inline float kv_number(unsigned short bits) {
  return __builtin_bit_cast(float, static_cast<unsigned>(bits) << 16U);
}

/// Where a row of a matrix in shared memory begins.
template <class T>
T* kv_row(T* matrix, unsigned row, unsigned num_columns) {
  const unsigned begin = row * num_columns;
  return matrix + begin;
}

template <class Warp>
void kv_load_queries(Warp& warp, const KvAttentionArguments& in, unsigned cta, float* queries) {
  for (unsigned query = 0; query < kKvQueries; ++query) {
    const auto at = warp.thread() + query * kKvDimensions;
    const auto value = warp.load(in.queries, at + cta * (kKvQueries * kKvDimensions));
    warp.compute(kKvQuery);
    warp.write(queries, at, value);
  }
}

/// The products of one token's key with every query. All tokens of a block are in one or two lines.
template <class Warp, class Index>
auto kv_token_scores(Warp& warp, const KvAttentionArguments& in, const float* queries,
                     const Index& first_part) {
  auto scores = warp.lanes(KvScores{});
  for (unsigned part = 0; part < kKvKeyParts; ++part) {
    const auto key = warp.load(in.keys, first_part + part * kKvBlockTokens);
    const float* factors = kv_row(queries, part, 8);
    scores = warp.map(
        [factors](KvScores sum, const KvKeyPart& own) {
          for (unsigned query = 0; query < kKvQueries; ++query)
            for (unsigned i = 0; i < 8; ++i)
              sum.values[query] += factors[query * kKvDimensions + i] * kv_number(own.values[i]);
          return sum;
        },
        scores, key);
    warp.compute(kKvKeyPart);
  }
  return scores;
}

/// A thread takes every 128th token.
template <class Warp, class Index>
void kv_all_scores(Warp& warp, const KvAttentionArguments& in, unsigned cta,
                   const Index& num_tokens, const KvShared& shared) {
  constexpr float scale = 0.08838834764831845F;  // 1 / sqrt(dimensions)
  const unsigned first_block = cta / in.num_heads * in.max_blocks;
  const unsigned head = cta % in.num_heads;
  auto token = warp.thread();
  warp.loop(
      [&] { return token < num_tokens; },
      [&] {
        const auto block = warp.load(in.block_tables, token / kKvBlockTokens + first_block);
        const auto first_part =
            (block * in.num_heads + head) * (kKvKeyParts * kKvBlockTokens) + token % kKvBlockTokens;
        const auto scores = kv_token_scores(warp, in, shared.queries, first_part);
        for (unsigned query = 0; query < kKvQueries; ++query)
          warp.write(
              kv_row(shared.scores, query, kKvMaxTokens), token,
              warp.map([query](const KvScores& s) { return s.values[query] * scale; }, scores));
        warp.compute(kKvToken);
        warp.set(token, token + kKvThreads);
      });
}

/// The largest score of every 32nd token; each warp has one query head.
template <class Warp, class Index>
void kv_largest(Warp& warp, const Index& num_tokens, const KvShared& shared) {
  const float* scores = kv_row(shared.scores, warp.index(), kKvMaxTokens);
  auto largest = warp.lanes(-1e30F);
  auto token = warp.thread() % 32;
  warp.loop([&] { return token < num_tokens; },
            [&] {
              warp.set(largest, warp.map([](float a, float b) { return a < b ? b : a; }, largest,
                                         warp.read(scores, token)));
              warp.compute(kKvScore);
              warp.set(token, token + 32);
            });
  warp.write(shared.largest, warp.thread(), largest);
}

/// The exponentials of the scores minus the largest, and the sum of every 32nd.
template <class Warp, class Index>
void kv_exponentials(Warp& warp, const Index& num_tokens, const KvShared& shared) {
  float* scores = kv_row(shared.scores, warp.index(), kKvMaxTokens);
  auto largest = warp.lanes(-1e30F);
  for (unsigned i = 0; i < 32; ++i)
    largest = warp.map([](float a, float b) { return a < b ? b : a; }, largest,
                       warp.read(shared.largest, warp.lanes(warp.index() * 32 + i)));
  warp.compute(2 * 32);
  auto sum = warp.lanes(0.0F);
  auto token = warp.thread() % 32;
  warp.loop([&] { return token < num_tokens; },
            [&] {
              const auto power =
                  warp.map([](float score, float most) { return expf(score - most); },
                           warp.read(scores, token), largest);
              warp.write(scores, token, power);
              warp.set(sum, sum + power);
              warp.compute(kKvExp);
              warp.set(token, token + 32);
            });
  warp.write(shared.sums, warp.thread(), sum);
}

/// Adds the weighted values of a block's tokens. A thread has four dimensions.
template <class Warp, class Output, class Index>
void kv_add_block(Warp& warp, const KvAttentionArguments& in, const Index& first_token,
                  const Index& first_part, const Index& num_tokens, const float* weights,
                  Output& output) {
  for (unsigned i = 0; i < kKvBlockTokens; ++i) {
    const auto token = first_token + i;
    warp.when(token < num_tokens, [&] {
      const auto value = warp.load(in.values, first_part + i * kKvValueParts);
      warp.set(output, warp.map(
                           [weights](KvOutput sum, const KvValuePart& own, unsigned at) {
                             for (unsigned query = 0; query < kKvQueries; ++query)
                               for (unsigned k = 0; k < 4; ++k)
                                 sum.values[query][k] +=
                                     weights[query * kKvMaxTokens + at] * kv_number(own.values[k]);
                             return sum;
                           },
                           output, value, token));
      warp.compute(kKvValue);
    });
  }
}

/// A warp takes every fourth block.
template <class Warp, class Index>
void kv_partial_outputs(Warp& warp, const KvAttentionArguments& in, unsigned cta,
                        const Index& num_tokens, const KvShared& shared) {
  const unsigned first_block = cta / in.num_heads * in.max_blocks;
  const unsigned head = cta % in.num_heads;
  const auto part = warp.thread() % kKvValueParts;
  auto output = warp.lanes(KvOutput{});
  auto index = warp.lanes(warp.index());
  warp.loop([&] { return index * kKvBlockTokens < num_tokens; },
            [&] {
              const auto block = warp.load(in.block_tables, index + first_block);
              const auto first_part =
                  (block * in.num_heads + head) * (kKvBlockTokens * kKvValueParts) + part;
              warp.compute(kKvBlock);
              kv_add_block(warp, in, index * kKvBlockTokens, first_part, num_tokens, shared.scores,
                           output);
              warp.set(index, index + kKvWarps);
            });
  for (unsigned query = 0; query < kKvQueries; ++query)
    for (unsigned k = 0; k < 4; ++k)
      warp.write(
          kv_row(shared.outputs, warp.index() * kKvQueries + query, kKvDimensions), part * 4 + k,
          warp.map([query, k](const KvOutput& sum) { return sum.values[query][k]; }, output));
  warp.compute(kKvPartial);
}

/// A thread has one dimension of each query head.
template <class Warp>
void kv_store_outputs(Warp& warp, const KvAttentionArguments& in, unsigned cta,
                      const KvShared& shared) {
  for (unsigned query = 0; query < kKvQueries; ++query) {
    auto weights = warp.lanes(0.0F);
    for (unsigned i = 0; i < 32; ++i)
      weights = weights + warp.read(shared.sums, warp.lanes(query * 32 + i));
    warp.compute(2 * 32);
    const auto at = warp.thread() + query * kKvDimensions;
    auto output = warp.lanes(0.0F);
    for (unsigned other = 0; other < kKvWarps; ++other)
      output = output + warp.read(shared.outputs, at + other * (kKvQueries * kKvDimensions));
    warp.compute(kKvOutput);
    warp.store(in.outputs, at + cta * (kKvQueries * kKvDimensions), output / weights);
  }
}

template <class Cta>
void kv_attention(Cta& cta, const KvAttentionArguments& in) {
  const KvShared shared = {cta.template shared<float>(kKvQueries * kKvDimensions),
                           cta.template shared<float>(kKvQueries * kKvMaxTokens),
                           cta.template shared<float>(kKvThreads),
                           cta.template shared<float>(kKvThreads),
                           cta.template shared<float>(kKvWarps * kKvQueries * kKvDimensions)};
  auto states = cta.template per_warp<KvThread<Cta>>();
  const auto each_warp = [&](auto body) {
    cta.each_warp([&](auto& warp) { body(warp, states[warp.index()].num_tokens); });
  };
  each_warp([&](auto& warp, auto& num_tokens) {
    num_tokens = warp.load(in.num_tokens, warp.lanes(cta.index() / in.num_heads));
    warp.compute(kKvSetUp);
    kv_load_queries(warp, in, cta.index(), shared.queries);
  });
  cta.barrier();
  each_warp([&](auto& warp, const auto& num_tokens) {
    kv_all_scores(warp, in, cta.index(), num_tokens, shared);
  });
  cta.barrier();
  each_warp([&](auto& warp, const auto& num_tokens) { kv_largest(warp, num_tokens, shared); });
  cta.barrier();
  each_warp([&](auto& warp, const auto& num_tokens) { kv_exponentials(warp, num_tokens, shared); });
  cta.barrier();
  each_warp([&](auto& warp, const auto& num_tokens) {
    kv_partial_outputs(warp, in, cta.index(), num_tokens, shared);
  });
  cta.barrier();
  each_warp([&](auto& warp, const auto&) { kv_store_outputs(warp, in, cta.index(), shared); });
}

}  // namespace isthmus::workloads

// The new token of each sequence in a step of decoding: its key and value go to the end of the
// sequence's cache, and its queries are ready for attention. A model computes them from the last
// step's output through projections; here they are means and sums of it, number by number, so that
// each step depends on the one before. A CTA is one warp, and has one sequence and one key/value
// head. The layout of the cache and the attention over it are kv_attention_kernel.hpp's.
#pragma once

#include "workloads/modern/kv_attention_kernel.hpp"

namespace isthmus::workloads {

// Instructions of a thread, counted in the source.
inline constexpr unsigned kKvNew = 24;     ///< indices, place in the cache
inline constexpr unsigned kKvNumber = 10;  ///< addresses, three sums, conversion
inline constexpr unsigned kKvRenew = 4;    ///< address, sum

/// The upper half of a float.
inline unsigned short kv_bits(float value) {
  return static_cast<unsigned short>(__builtin_bit_cast(unsigned, value) >> 16U);
}

/// The mean over the CTA's query heads, in one dimension.
template <class Warp, class Index>
auto kv_mean(Warp& warp, const Array<float>& array, unsigned cta, const Index& dimension) {
  auto sum = warp.lanes(0.0F);
  for (unsigned query = 0; query < kKvQueries; ++query)
    sum = sum + warp.load(array, dimension + (cta * kKvQueries + query) * kKvDimensions);
  warp.compute(kKvNumber);
  return sum * (1.0F / kKvQueries);
}

/// Some dimensions of the means, from `first` on, as they are stored.
template <class Part, class Warp, class Index>
auto kv_part(Warp& warp, const Array<float>& array, unsigned cta, const Index& first) {
  auto part = warp.lanes(Part{});
  for (unsigned i = 0; i < sizeof(Part) / sizeof(unsigned short); ++i)
    part = warp.map(
        [i](Part before, float value) {
          before.values[i] = kv_bits(value);
          return before;
        },
        part, kv_mean(warp, array, cta, first + i));
  return part;
}

/// Sixteen lanes store eight dimensions of the key each.
template <class Warp, class Index>
void kv_store_key(Warp& warp, const KvAttentionArguments& in, unsigned cta, const Index& place,
                  const Index& offset) {
  warp.when(warp.lane() < kKvKeyParts, [&] {
    const auto part = kv_part<KvKeyPart>(warp, in.queries, cta, warp.lane() * 8);
    warp.store(in.keys, (place * kKvKeyParts + warp.lane()) * kKvBlockTokens + offset, part);
  });
}

/// All lanes store four dimensions of the value each.
template <class Warp, class Index>
void kv_store_value(Warp& warp, const KvAttentionArguments& in, unsigned cta, const Index& place,
                    const Index& offset) {
  const auto part = kv_part<KvValuePart>(warp, in.outputs, cta, warp.lane() * 4);
  warp.store(in.values, (place * kKvBlockTokens + offset) * kKvValueParts + warp.lane(), part);
}

/// The next queries: half the last ones, and the last output.
template <class Warp>
void kv_renew_queries(Warp& warp, const KvAttentionArguments& in, unsigned cta) {
  for (unsigned first = 0; first < kKvQueries * kKvDimensions; first += 32) {
    const auto at = warp.lane() + (cta * kKvQueries * kKvDimensions + first);
    warp.compute(kKvRenew);
    warp.store(in.queries, at, warp.load(in.queries, at) * 0.5F + warp.load(in.outputs, at));
  }
}

template <class Cta>
void kv_append(Cta& cta, const KvAttentionArguments& in) {
  const unsigned sequence = cta.index() / in.num_heads;
  const unsigned head = cta.index() % in.num_heads;
  cta.each_warp([&](auto& warp) {
    const auto token = warp.load(in.num_tokens, warp.lanes(sequence)) - 1;
    const auto block =
        warp.load(in.block_tables, token / kKvBlockTokens + sequence * in.max_blocks);
    const auto place = block * in.num_heads + head;
    warp.compute(kKvNew);
    kv_store_key(warp, in, cta.index(), place, token % kKvBlockTokens);
    kv_store_value(warp, in, cta.index(), place, token % kKvBlockTokens);
  });
  cta.barrier();  // the key needs other lanes' queries
  cta.each_warp([&](auto& warp) { kv_renew_queries(warp, in, cta.index()); });
}

}  // namespace isthmus::workloads

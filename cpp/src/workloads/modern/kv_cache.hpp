// Keys and values of a paged cache: how many a block has, what they are at first, and their copies.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>

#include "trace/trace.hpp"
#include "workloads/modern/kv_attention_kernel.hpp"
#include "workloads/recording/array.hpp"
#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {

inline std::uint64_t key_parts_of_block(std::uint32_t num_heads) {
  return std::uint64_t{num_heads} * kKvKeyParts * kKvBlockTokens;
}

inline std::uint64_t value_parts_of_block(std::uint32_t num_heads) {
  return std::uint64_t{num_heads} * kKvBlockTokens * kKvValueParts;
}

/// Four bfloat16 in (-1, 1) from one random number, as bits.
template <class Part>
void fill_parts(Part* parts, std::uint64_t num_parts, RandomNumbers& random) {
  for (std::uint64_t part = 0; part < num_parts; ++part)
    for (std::size_t first = 0; first < std::size(parts[part].values); first += 4) {
      const std::uint64_t bits = random.next();
      for (std::size_t i = 0; i < 4; ++i) {
        const auto number = static_cast<std::int16_t>(bits >> (16 * i));
        const float value = static_cast<float>(number) / 32768;
        parts[part].values[first + i] =
            static_cast<unsigned short>(std::bit_cast<std::uint32_t>(value) >> 16U);
      }
    }
}

/// Fills a block of both arrays, keys first.
inline void fill_block(const KvAttentionArguments& cache, std::uint32_t block,
                       RandomNumbers& random) {
  const std::uint64_t keys = key_parts_of_block(cache.num_heads);
  const std::uint64_t values = value_parts_of_block(cache.num_heads);
  fill_parts(cache.keys.values + block * keys, keys, random);
  fill_parts(cache.values.values + block * values, values, random);
}

template <class T>
trace::HostStep upload_of_block(const Array<T>& array, std::uint32_t block,
                                std::uint64_t parts_of_block) {
  const std::uint64_t size_bytes = parts_of_block * sizeof(T);
  return {trace::HostStep::Kind::upload, array.address + block * size_bytes, size_bytes};
}

}  // namespace isthmus::workloads

// StoreGPU's sliding window: the SHA-1 of the 52 bytes at every fourth byte. A message of 52 bytes
// is one block of SHA-1, including padding.
//
// Source      FIPS 180-4, section 6.1
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

inline constexpr unsigned kStoWindowWords = 13;
inline constexpr unsigned kStoBlockWords = 16;
inline constexpr unsigned kStoRounds = 80;

struct StoArguments {
  Array<unsigned> words;   ///< of all windows, in memory order
  Array<unsigned> hashes;  ///< the first word of each window's digest
};

// Instructions of a thread, calibrated: ISPASS'09 counts 134 M in total.
inline constexpr unsigned kStoSetUp = 74;
inline constexpr unsigned kStoLoad = 6;    ///< address, byte order
inline constexpr unsigned kStoRound = 32;  ///< including the schedule's

inline unsigned sto_turn(unsigned word, unsigned bits) {
  return word << bits | word >> (32 - bits);
}

inline unsigned sto_big_endian(unsigned word) {
  return word << 24U | (word << 8U & 0xFF0000U) | (word >> 8U & 0xFF00U) | word >> 24U;
}

/// What a round adds, depending on its number: the function of three words and the constant.
inline unsigned sto_mix(unsigned round, unsigned b, unsigned c, unsigned d) {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5A827999U;
  if (round < 40) return (b ^ c ^ d) + 0x6ED9EBA1U;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCU;
  return (b ^ c ^ d) + 0xCA62C1D6U;
}

/// The first word of a block's digest. Overwrites the block with its schedule.
template <class Warp, class Value>
Value sto_hash(Warp& warp, Value (&block)[kStoBlockWords]) {
  Value state[5] = {warp.lanes(0x67452301U), warp.lanes(0xEFCDAB89U), warp.lanes(0x98BADCFEU),
                    warp.lanes(0x10325476U), warp.lanes(0xC3D2E1F0U)};
  // Else compilers unroll some of the GPU's kernels, and keep the block of others in memory.
#ifdef __CUDACC__
#pragma unroll
#endif
  for (unsigned round = 0; round < kStoRounds; ++round) {
    auto& word = block[round % kStoBlockWords];
    if (round >= kStoBlockWords)
      word =
          warp.map([](unsigned w) { return sto_turn(w, 1); },
                   word ^ block[(round + 2) % kStoBlockWords] ^
                       block[(round + 8) % kStoBlockWords] ^ block[(round + 13) % kStoBlockWords]);
    const auto next = [=](unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned w) {
      return sto_turn(a, 5) + sto_mix(round, b, c, d) + e + w;
    };
    const auto first = warp.map(next, state[0], state[1], state[2], state[3], state[4], word);
    state[4] = state[3];
    state[3] = state[2];
    state[2] = warp.map([](unsigned b) { return sto_turn(b, 30); }, state[1]);
    state[1] = state[0];
    state[0] = first;
    warp.compute(kStoRound);
  }
  return state[0] + 0x67452301U;
}

template <class Cta>
void sto_windows(Cta& cta, const StoArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto window = warp.thread() + cta.index() * cta.num_threads();
    typename Cta::template Value<unsigned> block[kStoBlockWords];
    warp.compute(kStoSetUp);
    for (unsigned i = 0; i < kStoWindowWords; ++i) {
      block[i] = warp.map(sto_big_endian, warp.load(in.words, window + i));
      warp.compute(kStoLoad);
    }
    block[kStoWindowWords] = warp.lanes(0x80000000U);
    block[kStoWindowWords + 1] = warp.lanes(0U);
    block[kStoWindowWords + 2] = warp.lanes(32 * kStoWindowWords);  // the message's length in bits
    warp.store(in.hashes, window, sto_hash(warp, block));
  });
}

}  // namespace isthmus::workloads

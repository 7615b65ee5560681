// AES-128 encryption, 16-byte block by block (ECB): four threads share a block. Each holds one
// column of its state; they exchange columns through shared memory in every round.
//
// Source      FIPS 197, with the table form of its section 5 that Daemen and Rijmen describe
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

inline constexpr unsigned kAesRounds = 10;
inline constexpr unsigned kAesThreads = 256;

struct AesArguments {
  const unsigned* table;     ///< [256] S-box and mixing of a column's first byte; constant memory
  const unsigned char* box;  ///< [256] the S-box; constant memory
  Array<unsigned> keys;      ///< [kAesRounds + 1][4], for all rounds; a texture
  Array<unsigned> plain;     ///< columns of blocks
  Array<unsigned> cipher;    ///< like plain
};

// Instructions of a thread, calibrated: ISPASS'09 counts 28 M in total.
inline constexpr unsigned kAesSetUp = 25;  ///< indices, tables to shared memory
inline constexpr unsigned kAesRound = 38;  ///< four shared reads, table reads, rotations

/// One column of the next state. Its row r comes from the column r places further.
///
/// state       the four columns of the block, around the thread's own
template <class Warp, class Value>
Value aes_column(Warp& warp, const AesArguments& in, const unsigned* state, const Value& thread,
                 bool is_last) {
  auto column = warp.lanes(0U);
  for (unsigned row = 0; row < 4; ++row) {
    const auto from = warp.map([=](unsigned t) { return t / 4 * 4 + (t + row) % 4; }, thread);
    const auto byte = [=](unsigned c) { return c >> (8 * row) & 0xFFU; };
    const auto index = warp.map(byte, warp.read(state, from));
    if (is_last) {
      const auto place = [=](unsigned char b) { return static_cast<unsigned>(b) << (8 * row); };
      column = column ^ warp.map(place, warp.read(in.box, index));
    } else {
      const auto turn = [=](unsigned word) {
        return row == 0 ? word : word << (8 * row) | word >> (32 - 8 * row);
      };
      column = column ^ warp.map(turn, warp.read(in.table, index));
    }
  }
  warp.compute(kAesRound);
  return column;
}

template <class Cta>
void aes_blocks(Cta& cta, const AesArguments& in) {
  // Each round reads one and writes the other.
  unsigned* states[2] = {cta.template shared<unsigned>(kAesThreads),
                         cta.template shared<unsigned>(kAesThreads)};
  cta.each_warp([&](auto& warp) {
    const auto thread = warp.thread();
    const auto column = thread + cta.index() * kAesThreads;
    warp.compute(kAesSetUp);
    warp.write(states[0], thread, warp.load(in.plain, column) ^ warp.load(in.keys, thread % 4));
  });
  for (unsigned round = 1; round <= kAesRounds; ++round) {
    cta.barrier();
    cta.each_warp([&](auto& warp) {
      const auto thread = warp.thread();
      const auto key = warp.load(in.keys, thread % 4 + round * 4);
      const auto next =
          aes_column(warp, in, states[(round + 1) % 2], thread, round == kAesRounds) ^ key;
      if (round < kAesRounds)
        warp.write(states[round % 2], thread, next);
      else
        warp.store(in.cipher, thread + cta.index() * kAesThreads, next);
    });
  }
}

}  // namespace isthmus::workloads

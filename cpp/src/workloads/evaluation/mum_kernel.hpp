// Finds DNA reads in a reference: for each start in a read, how many letters from there on occur in
// the reference, and where in its suffix tree they end. Nodes and the reference are in textures: 32
// consecutive nodes, or 4 letters, form a column, each in a different row of 64 KiB.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct MumNode {
  unsigned begin;  ///< in the reference, on the edge to this node
  unsigned end;
  unsigned suffix_link;  ///< 0: none
  unsigned parent;
};

struct MumChildren {
  unsigned by_letter[4];  ///< 0: none
};

/// Where the match of one start in a read ends. Not written for short matches.
struct MumMatch {
  unsigned node;    ///< whose edge the match ends on
  unsigned length;  ///< letters from the start
};

struct MumArguments {
  Array<unsigned char> reference;  ///< letters 0 to 3, [texture rows][kMumReferenceWidth]
  Array<MumNode> nodes;            ///< [texture rows][kMumTextureWidth]
  Array<MumChildren> children;     ///< like nodes
  Array<unsigned char> reads;
  Array<unsigned> read_begins;
  Array<unsigned> read_lengths;
  Array<MumMatch> matches;  ///< [reads][num_starts]
  unsigned num_reads;
  unsigned num_starts;
  unsigned min_length;  ///< of a match to write
};

inline constexpr unsigned kMumRoot = 1;
inline constexpr unsigned kMumTextureWidth = 4096;
inline constexpr unsigned kMumColumn = 32;
inline constexpr unsigned kMumBlock = kMumTextureWidth * kMumColumn;  ///< nodes in 32 rows

/// A node's position in the textures.
inline unsigned mum_texel(unsigned node) {
  const unsigned in_block = node % kMumBlock;
  const unsigned row = node / kMumBlock * kMumColumn + in_block % kMumColumn;
  return row * kMumTextureWidth + in_block / kMumColumn;
}

inline constexpr unsigned kMumReferenceWidth = 65536;
inline constexpr unsigned kMumReferenceColumn = 4;

/// A letter's position in the reference's texture.
inline unsigned mum_reference_texel(unsigned position) {
  const unsigned block = kMumReferenceWidth * kMumReferenceColumn;
  const unsigned in_block = position % block;
  const unsigned row = position / block * kMumReferenceColumn + in_block % kMumReferenceColumn;
  return row * kMumReferenceWidth + in_block / kMumReferenceColumn;
}

// Instructions of a thread, calibrated: ISPASS'09 counts 77 M in total, with 140,000 letters.
inline constexpr unsigned kMumSetUp = 20;
inline constexpr unsigned kMumStart = 40;
inline constexpr unsigned kMumNodeStep =
    57;  ///< texture coordinates of two texels, choice of a child
inline constexpr unsigned kMumLetter = 26;  ///< addresses, comparison, loop

/// A thread's place in the tree: `depth` letters down to `node`, then along the edge to `last`,
/// `length` in total. The first `known` letters need no comparison.
template <class Unsigned>
struct MumPlace {
  Unsigned node;
  Unsigned depth;
  Unsigned last;
  Unsigned length;
  Unsigned known;
};

/// Compares along an edge, and returns the number of matching letters. The first letter always
/// matches: it selected the edge.
template <class Warp, class Unsigned, class Edge>
Unsigned mum_along_edge(Warp& warp, const MumArguments& in, const MumPlace<Unsigned>& place,
                        const Unsigned& first, const Unsigned& num_left, const Edge& edge) {
  const auto begin = warp.map([](const MumNode& node) { return node.begin; }, edge);
  const auto end = warp.map(
      [](const MumNode& node, unsigned left) {
        return node.end - node.begin < left ? node.end - node.begin : left;
      },
      edge, num_left);
  auto matched = warp.map(
      [](unsigned known, unsigned depth, unsigned most) {
        const unsigned sure = known > depth ? known - depth : 1;
        return sure < most ? sure : most;
      },
      place.known, place.depth, end);
  auto alike = warp.lanes(1U);
  warp.loop([&] { return (matched < end) & (alike != 0); },
            [&] {
              warp.compute(kMumLetter);
              const auto here = warp.load(in.reads, first + place.depth + matched);
              const auto texel = warp.map(mum_reference_texel, begin + matched);
              warp.when(
                  warp.load(in.reference, texel) == here, [&] { warp.set(matched, matched + 1); },
                  [&] { warp.set(alike, 0U); });
            });
  return matched;
}

/// Descends from place.node as far as the read matches.
///
/// first       index of the letter where the match starts
/// num_letters from there to the read's end
template <class Warp, class Unsigned>
void mum_descend(Warp& warp, const MumArguments& in, MumPlace<Unsigned>& place,
                 const Unsigned& first, const Unsigned& num_letters) {
  auto going = warp.lanes(1U);
  warp.set(place.length, place.depth);
  warp.set(place.last, place.node);
  warp.loop([&] { return (going != 0) & (place.depth < num_letters); },
            [&] {
              warp.compute(kMumNodeStep);
              const auto letter = warp.load(in.reads, first + place.depth);
              const auto children = warp.load(in.children, warp.map(mum_texel, place.node));
              const auto child = warp.map(
                  [](const MumChildren& c, unsigned char l) { return c.by_letter[l & 3U]; },
                  children, letter);
              warp.set(going, 0U);
              warp.when(child != 0, [&] {
                const auto edge = warp.load(in.nodes, warp.map(mum_texel, child));
                const auto matched =
                    mum_along_edge(warp, in, place, first, num_letters - place.depth, edge);
                const auto is_whole =
                    warp.test([](const MumNode& e, unsigned m) { return e.end - e.begin == m; },
                              edge, matched);
                warp.set(place.length, place.depth + matched);
                warp.set(place.last, child);
                warp.when(is_whole, [&] {
                  warp.set(place.node, child);
                  warp.set(place.depth, place.length);
                  warp.set(going, 1U);
                });
              });
            });
}

/// Moves to the place of the match without its first letter: along the suffix link, or from the
/// root.
template <class Warp, class Unsigned>
void mum_next_start(Warp& warp, const MumArguments& in, MumPlace<Unsigned>& place) {
  const auto node = warp.load(in.nodes, warp.map(mum_texel, place.node));
  const auto link = warp.map([](const MumNode& n) { return n.suffix_link; }, node);
  const auto less_one = [](unsigned value) { return value > 0 ? value - 1 : 0; };
  warp.set(place.depth, warp.select(link != 0, warp.map(less_one, place.depth), warp.lanes(0U)));
  warp.set(place.node, warp.select(link != 0, link, warp.lanes(kMumRoot)));
  warp.set(place.known, warp.map(less_one, place.length));
}

template <class Unsigned, class Warp>
void mum_read(Warp& warp, const MumArguments& in, const Unsigned& read) {
  const auto begin = warp.load(in.read_begins, read);
  const auto length = warp.load(in.read_lengths, read);
  const auto zero = warp.lanes(0U);
  MumPlace<Unsigned> place{warp.lanes(kMumRoot), zero, zero, zero, zero};
  for (unsigned start = 0; start < in.num_starts; ++start) {
    warp.compute(kMumStart);
    mum_descend(warp, in, place, begin + start, length - start);
    warp.when(place.length >= in.min_length, [&] {
      const auto match =
          warp.map([](unsigned n, unsigned l) { return MumMatch{n, l}; }, place.last, place.length);
      warp.store(in.matches, read * in.num_starts + start, match);
    });
    mum_next_start(warp, in, place);
  }
}

template <class Cta>
void mum_reads(Cta& cta, const MumArguments& in) {
  cta.each_warp([&](auto& warp) {
    const auto read = warp.thread() + cta.index() * cta.num_threads();
    warp.compute(kMumSetUp);
    warp.when(read < in.num_reads, [&] { mum_read(warp, in, read); });
  });
}

}  // namespace isthmus::workloads

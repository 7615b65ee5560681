// Maps a sparse address space to small numbers, so that everything else can use flat arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cores/schedule.hpp"
#include "sim/machine.hpp"
#include "trace/checking.hpp"

namespace isthmus::sim {

/// The base of all threads' local memory: above every address that a trace may have.
inline constexpr std::uint64_t kLocalBase = trace::kAddressesEnd;

/// Numbers chunks of the address space (2 MiB, or a page if that is larger) in the order in which
/// they are first placed. A line's number consists of its chunk's number and its position in the
/// chunk; so does a page's.
class AddressMap {
public:
  AddressMap(const ModelledMachine& machine, std::uint32_t page_bytes);

  /// real_lines  addresses / 128
  /// Throws      UsageError beyond 512 GiB of touched chunks.
  void place(std::span<const std::uint64_t> real_lines, PlacedLine* placed_lines);

  /// Numbers their chunks in the same order as place().
  void number_chunks(std::span<const std::uint64_t> real_lines) {
    for (const std::uint64_t real_line : real_lines) {
      if (real_line >> chunk_shift_ != last_real_chunk_) find_chunk(real_line >> chunk_shift_);
    }
  }

  std::uint64_t real_line(std::uint32_t line) const {
    return (real_chunks_[line >> chunk_shift_] << chunk_shift_) + (line & chunk_mask_);
  }
  PlacedLine place_of(std::uint32_t line) const {
    return placed(real_line(line), line >> chunk_shift_, geometry_);
  }
  std::uint32_t page_of(std::uint32_t line) const { return line >> page_shift_; }
  std::uint32_t first_line(std::uint32_t page) const { return page << page_shift_; }
  std::uint32_t lines_per_page() const { return 1U << page_shift_; }
  std::uint32_t lines_per_chunk() const { return 1U << chunk_shift_; }
  std::uint32_t num_chunks() const { return static_cast<std::uint32_t>(real_chunks_.size()); }
  /// The address of a chunk's first byte.
  std::uint64_t chunk_address(std::uint32_t chunk) const;
  /// The number of the page at an address; kNoPage if its chunk was never placed.
  std::uint32_t page_at(std::uint64_t address) const;
  /// The addresses of the placed chunks that overlap [begin, end), in ascending order. Takes no
  /// longer for the whole address space than for the placed part.
  std::vector<std::uint64_t> placed_chunks(std::uint64_t begin, std::uint64_t end) const;

  static constexpr std::uint32_t kNoPage = ~0U;

private:
  static constexpr std::size_t kNumTurns = 64;  // selected by the top 6 bits of a row's hash

  /// The sizes that determine a line's place.
  struct Geometry {
    unsigned chunk_shift;
    unsigned stripe_shift;
    std::uint64_t num_partitions;
    std::uint64_t row_factor;  // 2^64 / num_partitions, rounded up: exact for stripes below 2^56
    std::uint64_t num_sets;
    std::uint64_t set_mask;  // 0: num_sets isn't a power of two
    std::array<std::uint8_t, kNumTurns> turns;
  };

  static PlacedLine placed(std::uint64_t real_line, std::uint32_t chunk, const Geometry& geometry) {
    const std::uint64_t in_chunk = real_line & ((1ULL << geometry.chunk_shift) - 1);
    const std::uint64_t line = (std::uint64_t{chunk} << geometry.chunk_shift) + in_chunk;
    const std::uint64_t stripe = real_line >> geometry.stripe_shift;
    const auto row = geometry.num_partitions == 1
                         ? stripe
                         : static_cast<std::uint64_t>((Wide{stripe} * geometry.row_factor) >> 64U);
    // Rows are rotated against each other, so that power-of-two strides reach all partitions.
    std::uint64_t partition =
        stripe - row * geometry.num_partitions + geometry.turns[row * 0x9E3779B97F4A7C15ULL >> 58U];
    if (partition >= geometry.num_partitions) partition -= geometry.num_partitions;
    const std::uint64_t in_stripe = real_line & ((1ULL << geometry.stripe_shift) - 1);
    const std::uint64_t in_partition = row << geometry.stripe_shift | in_stripe;
    const std::uint64_t set = geometry.set_mask != 0 ? in_partition & geometry.set_mask
                                                     : in_partition % geometry.num_sets;
    return PlacedLine::of(static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(partition),
                          static_cast<std::uint32_t>(set));
  }

  void find_chunk(std::uint64_t real_chunk);
  std::uint32_t look_up(std::uint64_t real_chunk) const;
  void add(std::uint64_t real_chunk);

  unsigned chunk_shift_;
  unsigned page_shift_;
  std::uint64_t chunk_mask_;
  Geometry geometry_;
  std::uint64_t last_real_chunk_ = ~0ULL;
  std::uint32_t last_chunk_ = 0;
  std::vector<std::uint64_t> real_chunks_;
  std::vector<std::uint32_t> table_;  // open addressing; 0: empty, else chunk + 1
};

}  // namespace isthmus::sim

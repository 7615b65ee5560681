#include "sim/migration/address_map.hpp"

#include <algorithm>
#include <bit>

#include <isthmus/errors.hpp>

#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

constexpr std::uint32_t kMinChunkBytes = 2U << 20U;

unsigned shift_of(std::uint64_t size_bytes) {
  return static_cast<unsigned>(std::countr_zero(size_bytes / trace::kLineBytes));
}

std::uint64_t sets_of(const PartitionParameters& partitions) {
  const std::uint64_t lines = partitions.l2_size_bytes / trace::kLineBytes;
  return std::max<std::uint64_t>(1, lines / std::max(1U, partitions.l2_ways));
}

}  // namespace

AddressMap::AddressMap(const ModelledMachine& machine, std::uint32_t page_bytes)
    : chunk_shift_(shift_of(std::max(page_bytes, kMinChunkBytes))),
      page_shift_(shift_of(page_bytes)),
      chunk_mask_((1ULL << chunk_shift_) - 1),
      geometry_(),
      table_(64, 0) {
  const std::uint64_t num_partitions = machine.partitions.count;
  const std::uint64_t num_sets = sets_of(machine.partitions);
  geometry_.chunk_shift = chunk_shift_;
  geometry_.stripe_shift = shift_of(machine.network.partition_stripe_bytes);
  geometry_.num_partitions = num_partitions;
  geometry_.row_factor = ~0ULL / num_partitions + 1;
  geometry_.num_sets = num_sets;
  geometry_.set_mask = std::has_single_bit(num_sets) ? num_sets - 1 : 0;
  for (std::size_t turn = 0; turn < kNumTurns; ++turn) {
    geometry_.turns[turn] = static_cast<std::uint8_t>(turn % num_partitions);
  }
}

void AddressMap::place(std::span<const std::uint64_t> real_lines, PlacedLine* placed_lines) {
  const Geometry geometry = geometry_;  // a copy, which the compiler keeps in registers
  for (const std::uint64_t real_line : real_lines) {
    if (real_line >> geometry.chunk_shift != last_real_chunk_) {
      find_chunk(real_line >> geometry.chunk_shift);
    }
    *placed_lines++ = placed(real_line, last_chunk_, geometry);
  }
}

std::uint64_t AddressMap::chunk_address(std::uint32_t chunk) const {
  return (real_chunks_[chunk] << chunk_shift_) * trace::kLineBytes;
}

std::uint32_t AddressMap::page_at(std::uint64_t address) const {
  const std::uint64_t real_line = address / trace::kLineBytes;
  const std::uint32_t chunk = look_up(real_line >> chunk_shift_);
  if (chunk == kNoPage) return kNoPage;
  const std::uint64_t line = (std::uint64_t{chunk} << chunk_shift_) + (real_line & chunk_mask_);
  return page_of(static_cast<std::uint32_t>(line));
}

std::vector<std::uint64_t> AddressMap::placed_chunks(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t chunk_bytes = std::uint64_t{lines_per_chunk()} * trace::kLineBytes;
  const std::uint64_t first = begin / chunk_bytes;
  const std::uint64_t past = (end + chunk_bytes - 1) / chunk_bytes;
  std::vector<std::uint64_t> addresses;
  if (past - first <= num_chunks()) {
    for (std::uint64_t chunk = first; chunk < past; ++chunk) {
      if (look_up(chunk) != kNoPage) addresses.push_back(chunk * chunk_bytes);
    }
    return addresses;
  }
  for (const std::uint64_t chunk : real_chunks_) {
    if (chunk >= first && chunk < past) addresses.push_back(chunk * chunk_bytes);
  }
  std::ranges::sort(addresses);
  return addresses;
}

std::uint32_t AddressMap::look_up(std::uint64_t real_chunk) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t slot = (real_chunk * 0x9E3779B97F4A7C15ULL >> 32U) & mask;
  while (table_[slot] != 0) {
    if (real_chunks_[table_[slot] - 1] == real_chunk) return table_[slot] - 1;
    slot = (slot + 1) & mask;
  }
  return kNoPage;
}

void AddressMap::find_chunk(std::uint64_t real_chunk) {
  std::uint32_t chunk = look_up(real_chunk);
  if (chunk == kNoPage) {
    chunk = num_chunks();
    add(real_chunk);
  }
  last_real_chunk_ = real_chunk;
  last_chunk_ = chunk;
}

void AddressMap::add(std::uint64_t real_chunk) {
  if ((std::uint64_t{num_chunks()} + 1) << chunk_shift_ > 1ULL << 32U) {
    throw UsageError("the trace touches more than 512 GiB of address space: more than is numbered");
  }
  real_chunks_.push_back(real_chunk);
  if (real_chunks_.size() * 2 > table_.size()) table_.assign(table_.size() * 2, 0);
  const std::size_t mask = table_.size() - 1;
  const bool grown = std::ranges::all_of(table_, [](std::uint32_t entry) { return entry == 0; });
  for (std::size_t i = grown ? 0 : real_chunks_.size() - 1; i < real_chunks_.size(); ++i) {
    std::size_t slot = (real_chunks_[i] * 0x9E3779B97F4A7C15ULL >> 32U) & mask;
    while (table_[slot] != 0) slot = (slot + 1) & mask;
    table_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace isthmus::sim

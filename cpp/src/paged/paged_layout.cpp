#include "paged/paged_layout.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include <isthmus/errors.hpp>

#include "host/memory/pages.hpp"

namespace isthmus {
namespace {

// Requests on the link are of 128 bytes: reads of both memories begin with them, and with a unit.
constexpr std::uintptr_t kAlignment = PagedMemory::kMinUnitBytes;

void require_unit(std::size_t unit_bytes) {
  if (std::has_single_bit(unit_bytes) && unit_bytes >= PagedMemory::kMinUnitBytes &&
      unit_bytes <= PagedMemory::kMaxUnitBytes)
    return;
  throw UsageError("a unit of " + std::to_string(unit_bytes) +
                   " bytes: it must be a power of two from 256 bytes to 2 MiB, such as 1024");
}

// More than one warp's work for a unit, and a quarter of the bits of units of 1 KiB.
constexpr std::size_t kMaxGranuleBytes = 4096;

}  // namespace

std::size_t granule_bytes(const PagedOptions& options) noexcept {
  return options.budget_bytes.has_value() ? options.unit_bytes
                                          : std::min(options.unit_bytes, kMaxGranuleBytes);
}

PagedOptions checked(const PagedOptions& options) {
  require_unit(options.unit_bytes);
  const std::uint64_t budget_bytes = options.budget_bytes.value_or(options.unit_bytes);
  if (budget_bytes != 0 && budget_bytes < options.unit_bytes)
    throw UsageError("a budget of " + std::to_string(budget_bytes) +
                     " bytes has no room for a unit of " + std::to_string(options.unit_bytes) +
                     ": give more of the device's memory, or make units smaller");
  return options;
}

PagedSource checked(const PagedSource& source, const PagedOptions& options) {
  if (source.size_bytes == 0) throw UsageError("a paged array needs at least one item");
  if (!std::has_single_bit(source.item_bytes) || source.item_bytes > 16)
    throw UsageError("items of " + std::to_string(source.item_bytes) +
                     " bytes: a paged array's have 1, 2, 4, 8 or 16");
  if (reinterpret_cast<std::uintptr_t>(source.memory) % source.item_bytes != 0)
    throw UsageError("the array's memory isn't aligned to its items: copy it first");
  if (source.size_bytes / granule_bytes(options) >= paged::kNoUnit - 1)
    throw UsageError("an array of " + std::to_string(source.size_bytes) +
                     " bytes has more than 2^32 units, of which one of more than 4 KiB counts as "
                     "several without a budget: choose larger ones, or a part of the array");
  return source;
}

PagedLayout::PagedLayout(const PagedSource& source, const PagedOptions& options)
    : budgeted(options.budget_bytes.has_value()),
      first_byte(reinterpret_cast<std::uintptr_t>(source.memory) % kAlignment),
      end_byte(first_byte + source.size_bytes),
      unit_shift(unsigned(std::countr_zero(granule_bytes(options)))),
      parts_shift(unsigned(std::countr_zero(options.unit_bytes)) - unit_shift) {
  const std::uint64_t num_units = (end_byte + granule_bytes(options) - 1) >> unit_shift;
  num_frames = std::min(options.budget_bytes.value_or(0) >> unit_shift, num_units);
  bits_bytes = host::round_up((num_units + 31) / 32 * sizeof(paged::word), kAlignment);
  units_bytes = num_frames == 0 ? 0 : host::round_up(num_units * sizeof(paged::word), kAlignment);
  frames_bytes = host::round_up(num_frames * sizeof(paged::word), kAlignment);
  item_bytes = (budgeted ? std::max<std::uint64_t>(num_frames, 1) : num_units) << unit_shift;
  map_bytes = kPagedBitsAt + 3 * bits_bytes;
  if (budgeted) map_bytes += 3 * bits_bytes + units_bytes + 2 * frames_bytes;
  // Without a budget the host's side alone has what was stored written to the host's memory.
  if (budgeted && source.file && !source.read_only) {
    changed_at = map_bytes;
    taken_at = changed_at + bits_bytes;
    map_bytes += 2 * bits_bytes;
  }
  view_bytes = kPagedSettledAt + bits_bytes;
}

budgeted_map PagedLayout::map(CUdeviceptr items, CUdeviceptr maps, CUdeviceptr host,
                              unsigned array_number) const noexcept {
  const auto words = [&](std::size_t at) { return reinterpret_cast<paged::word*>(maps + at); };
  const auto bits = [&](std::size_t which) { return words(kPagedBitsAt + which * bits_bytes); };
  budgeted_map map{};
  if (!budgeted) map.device = reinterpret_cast<unsigned char*>(items);
  map.host = reinterpret_cast<unsigned char*>(host - first_byte);
  map.valid = bits(0);
  map.busy = bits(1);
  map.dirty = bits(2);
  map.whole = words(kPagedWholeAt);
  map.counters = reinterpret_cast<paged::number*>(maps + kPagedCountersAt);
  map.first_byte = first_byte;
  map.end_byte = end_byte;
  map.unit_shift = unit_shift;
  map.array_number = array_number;
  map.parts_shift = parts_shift;
  if (!budgeted) return map;
  const std::size_t units_at = kPagedBitsAt + 6 * bits_bytes, frames_at = units_at + units_bytes;
  map.frames = reinterpret_cast<unsigned char*>(items);
  map.in_place = bits(3);
  map.used = bits(4);
  map.named = bits(5);
  map.frame_of = words(units_at);
  map.unit_in = words(frames_at);
  map.free_frames = words(frames_at + frames_bytes);
  if (changed_at != 0) map.changed = words(changed_at);
  map.clock = reinterpret_cast<budgeted_clock*>(maps + kPagedClockAt);
  map.num_frames = num_frames;
  return map;
}

bool is_set(const std::vector<std::uint32_t>& words, std::uint64_t unit) {
  return (words[unit / 32] >> (unit % 32) & 1U) != 0;
}

std::uint64_t bits_within(const std::vector<std::uint32_t>& words, const paged::extent& units) {
  std::uint64_t count = 0, unit = units.begin;
  for (; unit < units.end && unit % 32 != 0; unit++) count += is_set(words, unit);
  for (; unit + 32 <= units.end; unit += 32)
    count += std::uint64_t(std::popcount(words[unit / 32]));
  for (; unit < units.end; unit++) count += is_set(words, unit);
  return count;
}

PagedStats counted(const std::vector<std::uint32_t>& valid, const paged_map& map,
                   std::size_t page_bytes) {
  PagedStats stats;
  stats.num_units = map.num_units();
  stats.unit_bytes = std::uint64_t{1} << map.unit_shift;
  const std::uint64_t units_per_page = page_bytes >> map.unit_shift;
  std::uint64_t last_page = paged::kNoUnit;
  bool before = false;
  for (std::uint64_t unit = 0; unit < stats.num_units; unit++) {
    const bool now = is_set(valid, unit);
    const std::uint64_t page = unit / units_per_page;
    if (now && (!before || unit % units_per_page == 0)) stats.valid_ranges++;
    if (now && page != last_page) {
      stats.touched_pages++;
      last_page = page;
    }
    stats.valid_units += now;
    before = now;
  }
  return stats;
}

}  // namespace isthmus

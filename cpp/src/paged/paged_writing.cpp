// What a paged array writes back, to the host's memory and to a file.
//
// Units that were stored to are known by the device's dirty bits until they are written to the host's
// memory. Then, until the file has them, by `unwritten_`. A budgeted array's kernels write units to the
// host's memory, too; they note them in the bits of map_.changed.
#include "paged/paged_memory.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "paged/paged_launching.hpp"
#include "paged/paged_layout.hpp"

namespace isthmus {
namespace {

void add_bits(std::vector<std::uint32_t>& words, const std::vector<std::uint32_t>& more) {
  if (words.empty()) words.resize(more.size());
  for (std::size_t i = 0; i < more.size(); i++) words[i] |= more[i];
}

void clear_bits(std::vector<std::uint32_t>& words, const paged::extent& units) {
  if (words.empty()) return;
  for (std::uint64_t unit = units.begin; unit < units.end; unit++)
    words[unit / 32] &= ~(std::uint32_t{1} << (unit % 32));
}

/// The first run of set bits from `unit` on; empty at the end if there is none.
paged::extent next_run(const std::vector<std::uint32_t>& words, std::uint64_t unit,
                       std::uint64_t num_units) {
  while (unit < num_units && !is_set(words, unit))
    unit += unit % 32 == 0 && words[unit / 32] == 0 ? 32 : 1;
  if (unit >= num_units) return {num_units, num_units};
  std::uint64_t end = unit;
  while (end < num_units && is_set(words, end)) end++;
  return {unit, end};
}

}  // namespace

void PagedMemory::flush(const std::vector<PagedRange>& ranges, CUstream stream) const {
  require_writable("flush");
  if (source_.file)
    throw UsageError(
        "an array of a file can't be flushed in a stream, because the CPU writes the file: call "
        "flush() without a stream when the kernels that store were launched");
  write_back(units_of(ranges), stream);
}

void PagedMemory::flush(const std::vector<PagedRange>& ranges) const {
  const std::scoped_lock lock(working_);
  require_writable("flush");
  await_device();
  if (source_.file) note_stored();
  const std::vector<paged::extent> units = units_of(ranges);
  write_back(units, kDefaultStream);
  await(kDefaultStream);
  if (source_.file) write_file(units);
}

/// Bits of map_.changed that note_stored() has taken and, after a failure, not taken down.
CUdeviceptr PagedMemory::taken_changes() const noexcept {
  return maps_.pointer() + PagedLayout(source_, options_).taken_at;
}

/// The units that were stored to and not written back.
std::vector<std::uint32_t> PagedMemory::stored_words() const {
  std::vector<std::uint32_t> stored = words(map_.dirty);
  if (keeps_changes()) {
    add_bits(stored, words(map_.changed));
    add_bits(stored, words(reinterpret_cast<const paged::word*>(taken_changes())));
  }
  if (!unwritten_.empty()) add_bits(stored, unwritten_);
  return stored;
}

/// Takes down what is stored by now, before it goes to the host's memory: whatever fails later, it is
/// known. Kernels that store to other units may run beside it: none of their bits is lost.
void PagedMemory::note_stored() const {
  const std::uint64_t num_words = (map_.num_units() + 31) / 32;
  if (keeps_changes()) launch(kDefaultStream, "take_changed", num_words, taken_changes());
  add_bits(unwritten_, stored_words());
  if (!keeps_changes()) return;
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(context_.driver());
  context_.driver().call(symbol::memset_d8_async)(taken_changes(), std::uint8_t{0},
                                                  num_words * sizeof(paged::word), kDefaultStream);
  context_.driver().call(symbol::stream_synchronize)(kDefaultStream);
}

PagedRange PagedMemory::bytes_of(const paged::extent& units) const noexcept {
  const std::uint64_t begin = std::max(units.begin << map_.unit_shift, map_.first_byte);
  const std::uint64_t end = std::min(units.end << map_.unit_shift, map_.end_byte);
  return {begin - map_.first_byte, end - map_.first_byte};
}

void PagedMemory::write_file(const std::vector<paged::extent>& units) const {
  if (unwritten_.empty()) return;
  for (const auto& [begin, end] : units) {
    paged::extent run = next_run(unwritten_, begin, end);
    if (run.begin < end) source_.file->require_whole();
    for (; run.begin < end; run = next_run(unwritten_, run.end, end)) {
      source_.file->write(static_cast<const std::byte*>(source_.memory), bytes_of(run));
      clear_bits(unwritten_, run);
    }
  }
}

/// Reads the units of ranges. What was stored to them is lost: the caller has made sure that it may.
void PagedMemory::read_file_again(const std::vector<PagedRange>& ranges) const {
  source_.file->require_whole();
  if (keeps_changes()) note_stored();
  for (const PagedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const paged::extent units = units_of(range);
    source_.file->read(static_cast<std::byte*>(source_.memory), bytes_of(units));
    clear_bits(unwritten_, units);
  }
}

}  // namespace isthmus

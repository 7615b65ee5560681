// How units get to the device ahead of their use, and what the host has changed of them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <isthmus/errors.hpp>

#include "paged/paged_launching.hpp"
#include "paged/paged_layout.hpp"
#include "paged/paged_memory.hpp"

namespace isthmus {
namespace {

// So many fill the link. More would take multiprocessors from kernels that run beside a prefetch.
constexpr unsigned kMaxFetchingBlocks = 32;
// A warp fetches a unit of 1 KiB, or as much of smaller ones.
constexpr std::uint64_t kLanesOfUnit = 32;

}  // namespace

void PagedMemory::prefetch(const std::vector<PagedRange>& ranges, CUstream stream) const {
  std::vector<UnitsToMake> named;
  for (const paged::extent& units : units_of(ranges)) named.push_back({units, paged::kNamed});
  make_valid(named, stream);
  // Kernels that run meanwhile are told if it is all.
  if (!budgeted()) launch_blocks(stream, "conclude", 1);
}

void PagedMemory::will_overwrite(const std::vector<PagedRange>& ranges, CUstream stream) const {
  require_writable("will_overwrite");
  std::vector<UnitsToMake> units;
  const auto add = [&](std::uint64_t begin, std::uint64_t end, paged::request how) {
    if (begin < end) units.push_back({{begin, end}, how});
  };
  for (const PagedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const paged::extent all = units_of(range), whole = whole_units_of(range);
    add(all.begin, std::min(all.end, whole.begin), paged::kNamed);
    add(whole.begin, whole.end, paged::kOverwritten);
    add(std::max(whole.begin, whole.end), all.end, paged::kNamed);
  }
  make_valid(units, stream);
}

void PagedMemory::make_valid(const std::vector<UnitsToMake>& units, CUstream stream) const {
  if (has_frames()) make_room(units, stream);
  for (std::size_t first = 0; first < units.size(); first += paged::unit_runs::kMaxRuns) {
    paged::unit_runs runs{};
    std::uint64_t num_lanes = 0;
    bool fetches = true;
    for (std::size_t i = first; i < std::min(units.size(), first + paged::unit_runs::kMaxRuns);
         i++) {
      const auto& [run, how] = units[i];
      runs.begin[runs.count] = run.begin;
      runs.end[runs.count] = run.end;
      runs.how[runs.count++] = how;
      num_lanes += (run.end - run.begin) * (how == paged::kNamed ? kLanesOfUnit : 1);
      fetches = fetches && how == paged::kNamed;
    }
    const unsigned most = fetches ? kMaxFetchingBlocks : unsigned{kMaxPagedBlocks};
    launch_blocks(stream, "make_valid", std::min(most, paged_blocks_for(num_lanes, context_)),
                  runs);
  }
}

void PagedMemory::make_room(const std::vector<UnitsToMake>& units, CUstream stream) const {
  begin_settling(stream);
  for (const auto& [run, how] : units)
    launch(stream, "announce", (run.end - run.begin) / 32 + 2, std::uint64_t{run.begin},
           std::uint64_t{run.end});
  sweep(stream);
}

void PagedMemory::refresh(const std::vector<PagedRange>& ranges, CUstream stream) const {
  if (source_.file)
    throw UsageError(
        "refresh: the array of a file has memory of its own, which nobody else can change: "
        "invalidate() reads the file again");
  if (budgeted() && !has_frames()) return;
  for (const PagedRange& range : ranges) {
    if (range.begin >= range.end) continue;
    const auto [begin, end] = units_of(range);
    launch(stream, "refresh", (end - begin) * kLanesOfUnit, map_.first_byte + range.begin,
           map_.first_byte + range.end);
  }
}

}  // namespace isthmus

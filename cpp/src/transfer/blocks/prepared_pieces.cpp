// Pieces between addresses, as one launch of a kernel.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/blocks/block_copies.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/many/disjoint.hpp"
#include "transfer/many/known_ranges.hpp"

namespace isthmus::transfer {
namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// What the ends of pieces are: mostly in the same buffers as those before.
class PieceEnds {
public:
  PieceEnds(const Driver& driver, const HostMemory& host_memory, bool has_context)
      : driver_(driver), known_(driver, host_memory), has_context_(has_context) {}

  /// Returns     false if the piece isn't one for a kernel of the device of the pieces before
  /// Throws      UsageError: the memory is null, freed, or shorter than the piece.
  bool include(std::uint64_t target, std::uint64_t source, std::uint64_t size_bytes) {
    return include(End::target, target, size_bytes) && include(End::source, source, size_bytes);
  }
  /// True if all pieces cross the link, in one direction.
  bool cross_alike() const noexcept {
    return kinds_[0].size() == 1 && kinds_[1].size() == 1 && kinds_[0] != kinds_[1];
  }
  Direction direction() const noexcept {
    return kinds_[0].contains(MemoryKind::device) ? Direction::host_to_device
                                                  : Direction::device_to_host;
  }
  /// -1: no end is on a device.
  int device() const noexcept { return device_; }

private:
  bool include(End end, std::uint64_t address, std::uint64_t size_bytes) {
    const MemoryRange& last = last_[static_cast<std::size_t>(end)];
    if (address - last.base < last.size_bytes &&
        size_bytes <= last.size_bytes - (address - last.base)) [[likely]]
      return true;
    return include_other(end, address, size_bytes);
  }
  bool include_other(End end, std::uint64_t address, std::uint64_t size_bytes) {
    const char* const role = end == End::target ? "target" : "source";
    if (address == 0) throw UsageError("a " + std::string(role) + " pointer is null");
    if (!has_context_) return false;
    const MemoryRange range = known_.at(end, address, size_bytes, true);
    require_inside(driver_, range, address, size_bytes, role);
    const bool is_whole = range.kind == MemoryKind::device
                              ? !reaches_past(range, address, size_bytes)
                              : is_pinned_whole(driver_, range, address, size_bytes);
    if (!is_whole) return false;
    if (range.kind == MemoryKind::device && device_ < 0) device_ = range.device;
    if (range.kind == MemoryKind::device && range.device != device_) return false;
    kinds_.at(static_cast<std::size_t>(end)).insert(range.kind);
    last_[static_cast<std::size_t>(end)] = range;
    return true;
  }

  const Driver& driver_;
  KnownRanges known_;
  std::array<MemoryRange, 2> last_;
  std::array<std::set<MemoryKind>, 2> kinds_;  ///< of each end
  int device_ = -1;
  bool has_context_;
};

/// In how many pieces of at most BlockMover::kMaxPieceBytes.
std::size_t num_cut(const CopyPieces& pieces) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < pieces.num_pieces; ++i)
    count += (pieces.sizes[i] + BlockMover::kMaxPieceBytes - 1) / BlockMover::kMaxPieceBytes;
  return count;
}

void cut(const CopyPieces& pieces, IsthmusDescriptor* next) {
  for (std::size_t i = 0; i < pieces.num_pieces; ++i)
    for (std::uint64_t done = 0; done < pieces.sizes[i]; done += BlockMover::kMaxPieceBytes)
      *next++ = {pieces.targets[i] + done, pieces.sources[i] + done,
                 std::min<std::uint64_t>(BlockMover::kMaxPieceBytes, pieces.sizes[i] - done)};
}

void add_staged(PreparedWork& work, const CopyPieces& pieces) {
  for (std::size_t i = 0; i < pieces.num_pieces; ++i)
    work.copies.push_back({reinterpret_cast<void*>(pieces.targets[i]),
                           reinterpret_cast<const void*>(pieces.sources[i]), pieces.sizes[i]});
}

/// The pieces of arrays of structs, in arrays.
struct PieceArrays {
  explicit PieceArrays(std::span<const ManyCopy> copies) {
    for (std::vector<std::uint64_t>* all : {&targets, &sources, &sizes})
      all->reserve(copies.size());
    for (const ManyCopy& copy : copies) {
      targets.push_back(address_of(copy.target));
      sources.push_back(address_of(copy.source));
      sizes.push_back(copy.size_bytes);
    }
  }
  CopyPieces pieces() const { return {targets.data(), sources.data(), sizes.data(), sizes.size()}; }

  std::vector<std::uint64_t> targets, sources, sizes;
};

/// True if each byte is written once.
bool are_distinct(std::span<const ManyCopy> copies) {
  std::vector<TouchedRange> ranges;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto target = reinterpret_cast<std::uintptr_t>(copies[i].target);
    const auto source = reinterpret_cast<std::uintptr_t>(copies[i].source);
    ranges.push_back({target, target + copies[i].size_bytes, i, true, source});
    ranges.push_back({source, source + copies[i].size_bytes, i, false});
  }
  return require_disjoint(std::move(ranges)).empty();
}

void fill_once(PreparedWork& work, DevicePaths& paths, const CopyPieces& pieces) {
  work.device = &paths;
  work.num_pieces = num_cut(pieces);
  work.once = paths.block_mover().take_memory(work.num_pieces * sizeof(IsthmusDescriptor));
  cut(pieces, reinterpret_cast<IsthmusDescriptor*>(work.once->data()));
}

/// Fewer copies are planned in less time than a launch takes.
constexpr std::size_t kMinShort = 16;

/// True if the copies differ from each other only in their memory.
bool are_short_and_alike(std::span<const ManyCopy> copies) {
  if (copies.size() < kMinShort) return false;
  const CopyOptions& first = copies.front().options;
  return std::ranges::all_of(copies, [&](const ManyCopy& copy) {
    return copy.size_bytes - 1 < BlockMover::kMaxPieceBytes && copy.options.path.empty() &&
           copy.options.stream == first.stream && copy.options.ordered;
  });
}

/// True if no two targets overlap. Those of one call often lie in order.
bool are_targets_apart(std::span<const ManyCopy> copies) {
  using Extent = std::pair<std::uint64_t, std::uint64_t>;
  std::vector<Extent> extents;
  extents.reserve(copies.size());
  for (const ManyCopy& copy : copies)
    extents.emplace_back(address_of(copy.target), address_of(copy.target) + copy.size_bytes);
  if (!std::ranges::is_sorted(extents)) std::ranges::sort(extents);
  return std::ranges::adjacent_find(extents, [](const Extent& one, const Extent& other) {
           return other.first < one.second;
         }) == extents.end();
}

}  // namespace

bool BlockCopies::copy_short(std::span<const ManyCopy> copies) {
  if (!are_short_and_alike(copies)) return false;
  const auto stream = reinterpret_cast<CUstream>(copies.front().options.stream);
  const Devices::AnyContext any = devices_.any_context(false);
  PieceEnds ends(driver_, host_memory_, any.exists);
  try {
    for (const ManyCopy& copy : copies)
      if (!ends.include(address_of(copy.target), address_of(copy.source), copy.size_bytes))
        return false;
  } catch (const UsageError&) {
    return false;  // who examines them says which one it is
  }
  if (!ends.cross_alike() || !are_targets_apart(copies)) return false;
  DevicePaths& paths = devices_.at(ends.device());
  const ContextOfDevice context(paths.context());
  if (!devices_.block_obstacle(paths).empty() || is_captured(driver_, stream)) return false;
  const PieceArrays arrays(copies);
  PreparedWork work(driver_, devices_, many_);
  fill_once(work, paths, arrays.pieces());
  const BlockRoute route{ends.direction()};
  std::size_t size_bytes = 0;
  for (const std::uint64_t size : arrays.sizes) size_bytes += size;
  const BlockVolume volume{size_bytes / copies.size(), copies.size(), 0};
  work.launch = launch_for(paths, route, volume.block_bytes);
  const double seconds =
      seconds_of(Way::kernel, paths, route, volume, work.launch.num_multiprocessors);
  carriers_.carry_short(size_bytes, copies.size(), seconds, [&] {
    work.enqueue(stream, false);
    wait_for_copies(driver_, stream);
  });
  return true;
}

std::uint64_t keep_on_device(PreparedWork& work, std::span<const std::byte> bytes) {
  const Context& context = work.device->context();
  const ScopedRelaxedCapture relaxed(context.driver());  // it belongs to nobody's capture
  work.kept.emplace(context, bytes.size());
  const CUstream stream = work.device->background_stream();
  context.driver().call(symbol::memcpy_htod_async)(work.kept->pointer(), bytes.data(), bytes.size(),
                                                   stream);
  context.driver().call(symbol::stream_synchronize)(stream);
  return work.kept->pointer();
}

/// Returns     false if no kernel can move them
bool BlockCopies::take_pieces(PreparedWork& work, const CopyPieces& pieces, Uses uses) {
  const Devices::AnyContext any = devices_.any_context(false);
  PieceEnds ends(driver_, host_memory_, any.exists);
  bool fits = true;
  std::size_t i = 0;
  try {
    for (; i < pieces.num_pieces; ++i)
      if (pieces.sizes[i] != 0)
        fits = ends.include(pieces.targets[i], pieces.sources[i], pieces.sizes[i]) && fits;
  } catch (const UsageError& refusal) {
    throw RefusedCopy(i, refusal.what());
  }
  if (!fits || ends.device() < 0) return false;
  DevicePaths& paths = devices_.at(ends.device());
  const ContextOfDevice context(paths.context());
  if (!devices_.block_obstacle(paths).empty()) return false;
  work.launch = launch_for(paths, BlockRoute{ends.direction()}, 0);
  if (uses == Uses::once) {
    fill_once(work, paths, pieces);
    return true;
  }
  work.device = &paths;
  work.num_pieces = num_cut(pieces);
  std::vector<IsthmusDescriptor> all(work.num_pieces);
  cut(pieces, all.data());
  keep_on_device(work, std::as_bytes(std::span(all)));
  return true;
}

std::shared_ptr<PreparedWork> BlockCopies::prepare(const CopyPieces& pieces, Uses uses) {
  auto work = fresh();
  work->told.num_copies = pieces.num_pieces;
  for (std::size_t i = 0; i < pieces.num_pieces; ++i) work->told.size_bytes += pieces.sizes[i];
  work->way = take_pieces(*work, pieces, uses) ? Way::kernel : Way::staged;
  if (work->way == Way::staged) add_staged(*work, pieces);
  if (work->way == Way::kernel) work->told.num_multiprocessors = work->launch.num_multiprocessors;
  work->told.way = name_of(work->way);
  work->told.reason = work->way == Way::kernel
                          ? "a kernel reaches all of the memory"
                          : "kernels reach a device's memory and pinned memory, at both ends";
  return work;
}

std::shared_ptr<PreparedWork> BlockCopies::prepare(std::span<const ManyCopy> copies) {
  const bool distinct = are_distinct(copies);
  const auto is_short = [](const ManyCopy& copy) {
    return copy.size_bytes <= PieceMover::kMaxPieceBytes;
  };
  if (distinct && std::ranges::all_of(copies, is_short))
    return prepare(PieceArrays(copies).pieces(), Uses::many);
  auto work = fresh();
  work->way = Way::staged;
  work->copies.assign(copies.begin(), copies.end());
  work->told = {name_of(work->way),
                distinct ? "long copies are planned one by one" : "some bytes are written twice",
                copies.size()};
  for (const ManyCopy& copy : copies) work->told.size_bytes += copy.size_bytes;
  return work;
}

}  // namespace isthmus::transfer

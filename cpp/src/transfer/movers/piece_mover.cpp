#include "transfer/movers/piece_mover.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "device/stream.hpp"
#include "host/memory/pages.hpp"
#include "transfer/movers/mover_kernels.hpp"
#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {

inline constexpr std::size_t kMaxEntries = 4096;
inline constexpr std::size_t kStagedBytes = std::size_t{4} << 20U;

/// What the kernel is told of a piece: see kernels/pieces.cu.
struct PieceMover::Entry {
  std::uint64_t target;
  std::uint64_t source;
  std::uint64_t size_bytes;
};

/// Memory for one launch.
struct PieceMover::Half {
  Half(const Context& context, std::byte* begin)
      : entries(reinterpret_cast<Entry*>(begin)),
        staged(begin + kMaxEntries * sizeof(Entry)),
        left(context, Event::Timing::disabled) {}
  static constexpr std::size_t kBytes = kMaxEntries * sizeof(Entry) + kStagedBytes;

  Entry* entries;
  std::byte* staged;
  Event left;  ///< the launch that used it has ended
};

struct PieceMover::Memory {
  explicit Memory(const Context& context)
      : pinned(context, 2 * Half::kBytes),
        halves{Half(context, pinned.data()), Half(context, pinned.data() + Half::kBytes)} {}

  PinnedBuffer pinned;
  std::array<Half, 2> halves;
  std::size_t next = 0;
};
namespace {

constexpr const char* kMemoryIsLost =
    "an earlier launch failed, and its memory may still be in use";
// One word of 16 bytes for each lane: all of a chunk's loads are in flight at once.
constexpr std::size_t kChunkBytes = std::size_t{PieceMover::kBlockLanes} * 16;
// A staged piece lies in its place as on the device, so that the kernel moves 16 bytes at a time.
constexpr std::size_t kAlignment = 16;

std::size_t chunks_of(std::size_t size_bytes) {
  return (size_bytes + kChunkBytes - 1) / kChunkBytes;
}

}  // namespace

/// The pieces of one launch.
struct PieceMover::Round {
  std::span<const LinkPiece> pieces;
  std::byte* staged = nullptr;
  std::size_t num_entries = 0;
  Half* half = nullptr;
};

namespace {

/// Gives each staged piece its place, in order.
class Places {
public:
  explicit Places(std::byte* begin) noexcept : begin_(begin) {}
  /// Null if there is no room left.
  std::byte* take(const LinkPiece& piece) noexcept {
    const std::size_t lead = piece.device % kAlignment;
    const std::size_t first = host::round_up(used_, kAlignment) + lead;
    if (first + piece.size_bytes > kStagedBytes) return nullptr;
    used_ = first + piece.size_bytes;
    return begin_ + first;
  }

private:
  std::byte* begin_;
  std::size_t used_ = 0;
};

}  // namespace

PieceMover::PieceMover(const Context& context) : context_(context) {}

PieceMover::~PieceMover() {
  if (memory_ == nullptr || !context_.in_own_process()) return;
  bool idle = false;
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    for (const Half& half : memory_->halves) half.left.synchronize();
    idle = true;
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody knows what is under way
  }
  if (!idle) keep_until_process_ends(std::move(memory_));
}

std::string PieceMover::obstacle(const std::string& nvrtc) {
  const std::lock_guard lock(mutex_);
  if (prepared_) return memory_ == nullptr && obstacle_.empty() ? kMemoryIsLost : obstacle_;
  obstacle_ = obstacle_to([&] { prepare(nvrtc); });
  prepared_ = true;
  return obstacle_;
}

/// If it throws, nothing has changed.
void PieceMover::prepare(const std::string& nvrtc) {
  const ScopedRelaxedCapture relaxed(context_.driver());  // it belongs to nobody's capture
  Kernels kernels = mover_kernels(context_, nvrtc);
  const Kernel pieces = kernels.get("pieces", "isthmus_pieces");
  const Kernel strided = kernels.get("strided", "isthmus_strided");
  memory_ = std::make_unique<Memory>(context_);
  kernels_.emplace(std::move(kernels));
  kernel_ = pieces;
  strided_kernel_ = strided;
}

std::string PieceMover::conversion_obstacle() {
  const std::lock_guard lock(mutex_);
  if (convert_kernel_ || !conversion_obstacle_.empty()) return conversion_obstacle_;
  conversion_obstacle_ = obstacle_to([&] {
    const ScopedRelaxedCapture relaxed(context_.driver());
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): obstacle() has made them
    convert_kernel_ = kernels_->get("convert", "isthmus_convert");
  });
  return conversion_obstacle_;
}

/// The half that was used less recently. Waits until its launch has ended.
PieceMover::Half& PieceMover::next_half() {
  Half& half = memory_->halves[memory_->next];
  const ScopedRelaxedCapture relaxed(context_.driver());
  half.left.synchronize();
  memory_->next = 1 - memory_->next;
  return half;
}

/// Takes as many pieces as one launch can move, and stages an upload's.
PieceMover::Round PieceMover::fill(Half& half, std::span<const LinkPiece> pieces,
                                   Direction direction) const {
  const bool up = direction == Direction::host_to_device;
  Round round{pieces, half.staged, 0, &half};
  Places places(half.staged);
  std::size_t num_pieces = 0;
  for (const LinkPiece& piece : pieces) {
    if (round.num_entries + chunks_of(piece.size_bytes) > kMaxEntries) break;
    std::byte* const host = piece.direct ? piece.host : places.take(piece);
    if (host == nullptr) break;
    if (up && !piece.direct) std::memcpy(host, piece.host, piece.size_bytes);
    const auto at_host = reinterpret_cast<std::uintptr_t>(host);
    for (std::size_t done = 0; done < piece.size_bytes; done += kChunkBytes) {
      const std::uint64_t size_bytes = std::min(kChunkBytes, piece.size_bytes - done);
      half.entries[round.num_entries++] =
          up ? Entry{piece.device + done, at_host + done, size_bytes}
             : Entry{at_host + done, piece.device + done, size_bytes};
    }
    ++num_pieces;
  }
  round.pieces = pieces.first(num_pieces);
  return round;
}

void PieceMover::launch(Half& half, const Round& round, CUstream stream) {
  const auto multiprocessors =
      static_cast<unsigned>(std::max(1, context_.device().num_multiprocessors));
  const auto num_blocks = static_cast<unsigned>(
      std::min<std::size_t>(round.num_entries, std::size_t{4} * multiprocessors));
  const auto entries = reinterpret_cast<CUdeviceptr>(half.entries);
  try {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): obstacle() has compiled it
    kernel_->launch(stream, num_blocks, kBlockLanes, entries,
                    static_cast<unsigned long long>(round.num_entries));
    half.left.record(stream);
  } catch (...) {
    leave_if_in_use(stream);
    throw;
  }
}

/// Called while the exception of a launch is handled: without its event the memory may be in use as
/// long as the stream isn't idle.
void PieceMover::leave_if_in_use(CUstream stream) {
  if (becomes_idle(context_.driver(), stream)) return;
  keep_until_process_ends(std::move(memory_));
  throw_of_memory_in_use();
}

void PieceMover::require_memory() const {
  if (memory_ == nullptr)
    throw Unavailable("copying by a kernel", kMemoryIsLost, "another process");
}

void PieceMover::upload(std::span<const LinkPiece> pieces, CUstream stream) {
  const std::lock_guard lock(mutex_);
  while (!pieces.empty()) {
    require_memory();
    Half& half = next_half();
    const Round round = fill(half, pieces, Direction::host_to_device);
    launch(half, round, stream);
    pieces = pieces.subspan(round.pieces.size());
  }
}

void PieceMover::download(std::span<const LinkPiece> pieces, CUstream stream) {
  const std::lock_guard lock(mutex_);
  std::optional<Round> before;
  while (!pieces.empty()) {
    require_memory();
    Half& half = next_half();
    const Round round = fill(half, pieces, Direction::device_to_host);
    launch(half, round, stream);
    if (before) unpack(*before);
    before = round;
    pieces = pieces.subspan(round.pieces.size());
  }
  if (before) unpack(*before);
}

/// Waits for a launch, and puts its staged pieces at their places.
void PieceMover::unpack(const Round& round) {
  const auto is_staged = [](const LinkPiece& piece) { return !piece.direct; };
  if (std::ranges::none_of(round.pieces, is_staged)) return;
  const ScopedRelaxedCapture relaxed(round.half->left.context().driver());
  round.half->left.synchronize();
  Places places(round.staged);
  for (const LinkPiece& piece : round.pieces)
    if (is_staged(piece)) std::memcpy(piece.host, places.take(piece), piece.size_bytes);
}

}  // namespace isthmus::transfer

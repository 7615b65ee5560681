// Copies of many ranges, made as one copy by a staging ring.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>

#include "host/memory/pages.hpp"
#include "transfer/staging/host_ends.hpp"
#include "transfer/staging/worker_pool.hpp"

namespace isthmus::transfer {
namespace {

std::size_t address_of(const std::byte* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

std::size_t bytes_of(std::span<const LinkPiece> pieces) {
  std::size_t sum = 0;
  for (const LinkPiece& piece : pieces) sum += piece.size_bytes;
  return sum;
}

/// The targets of a list, as ranges of a job.
class ListedTargets {
public:
  ListedTargets(std::span<const LinkPiece> pieces, const RingSettings& settings,
                const MemoryBacking& backing)
      : ranges_(address_of(pieces.front().host)),
        fresh_(partly_untouched(pieces.front().host, pieces.front().size_bytes)) {
    const bool streamed = bytes_of(pieces) >= settings.min_long_bytes;
    for (const LinkPiece& piece : pieces) add(piece, settings, streamed, backing);
  }

  const StagedRanges& ranges() const noexcept { return ranges_; }
  std::size_t grain_bytes() const noexcept { return grain_bytes_; }
  bool fresh() const noexcept { return fresh_; }

private:
  void add(const LinkPiece& piece, const RingSettings& settings, bool streamed,
           const MemoryBacking& backing) {
    std::size_t grain = host::kLineBytes;
    if (piece.size_bytes >= settings.min_huge_bytes) {
      const TargetSizes sizes{streamed ? 0 : std::numeric_limits<std::size_t>::max(),
                              settings.min_huge_bytes};
      const MemoryTarget& target = targets_.emplace_back(piece.host, piece.size_bytes, sizes,
                                                         backing.of(piece.host, piece.size_bytes));
      grain = target.grain_bytes();
      fresh_ = fresh_ || target.fresh();
    } else {
      const MemoryTarget& target =
          targets_.emplace_back(piece.host, piece.size_bytes, streamed, backing);
      // Shorter targets may share a page with others: a thread less that faults it isn't worth a gap.
      if (piece.size_bytes >= std::size_t{64} << 10U) grain = target.grain_bytes();
    }
    grain_bytes_ = std::max(grain_bytes_, grain);
    ranges_.add({piece.device, piece.size_bytes, nullptr, &targets_.back()}, address_of(piece.host),
                grain);
  }

  std::deque<MemoryTarget> targets_;
  StagedRanges ranges_;
  std::size_t grain_bytes_ = host::kLineBytes;
  bool fresh_;
};

}  // namespace

void StagingRing::upload(std::span<const LinkPiece> pieces, CUstream stream, UploadEnd end) {
  pool_->require_own_process();
  if (pieces.empty()) return;
  const std::size_t size_bytes = bytes_of(pieces);
  const int num_threads = pool_->upload_threads(size_bytes);
  const auto turn = pool_->take_turn(num_threads);
  const SlotFilling filling = pool_->upload_filling(size_bytes, num_threads);
  std::deque<ListedSource> sources;
  StagedRanges ranges(pieces.front().device);
  for (const LinkPiece& piece : pieces) {
    const ListedSource& source = sources.emplace_back(piece.host, piece.size_bytes, pool_->backing,
                                                      filling, ranges.size_bytes());
    ranges.add({piece.device, piece.size_bytes, &source}, piece.device, host::kLineBytes);
  }
  pool_->upload(ranges, pieces.front().device, num_threads, stream, end);
}

void StagingRing::download(std::span<const LinkPiece> pieces, CUstream stream) {
  pool_->require_own_process();
  if (pieces.empty()) return;
  const auto turn = pool_->take_turn(pool_->download_threads(bytes_of(pieces), false));
  const ListedTargets targets(pieces, pool_->settings, pool_->backing);
  pool_->download(targets.ranges(), address_of(pieces.front().host), targets.grain_bytes(),
                  targets.fresh(), stream);
}

}  // namespace isthmus::transfer

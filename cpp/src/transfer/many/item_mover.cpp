// Copies between memory layouts, by the kernel of kernels/strided.cu.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "device/capture.hpp"
#include "transfer/many/mover_memory.hpp"

namespace isthmus::transfer {
namespace {

constexpr unsigned kBlockLanes = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;

/// IsthmusLayouts of kernels/strided.cu.
struct KernelLayouts {
  std::uint64_t target, source;
  std::uint64_t first, count;
  std::array<std::uint64_t, Layouts::kMaxDimensions> shape;
  std::array<std::uint64_t, Layouts::kMaxDimensions> target_strides;
  std::array<std::uint64_t, Layouts::kMaxDimensions> source_strides;
  std::uint32_t num_dimensions;
  std::uint32_t item_bytes;
};

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

/// Some items, in C order, and the first item of each end.
struct PieceMover::ItemRange {
  std::uint64_t target;
  std::uint64_t source;
  std::size_t first;
  std::size_t count;
};

void PieceMover::launch_items(const Layouts& layouts, const ItemRange& range, CUstream stream) {
  KernelLayouts told{range.target, range.source, range.first, range.count, {}, {}, {}, 0, 0};
  told.item_bytes = static_cast<std::uint32_t>(layouts.item_bytes());
  for (const Dimension& dimension : layouts.dimensions()) {
    told.shape[told.num_dimensions] = dimension.length;
    told.target_strides[told.num_dimensions] = static_cast<std::uint64_t>(dimension.target_stride);
    told.source_strides[told.num_dimensions] = static_cast<std::uint64_t>(dimension.source_stride);
    ++told.num_dimensions;
  }
  const auto most = kBlocksPerMultiprocessor *
                    static_cast<unsigned>(std::max(1, context_.device().num_multiprocessors));
  const std::size_t wanted = (range.count + kBlockLanes - 1) / kBlockLanes;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): obstacle() has compiled it
  strided_kernel_->launch(stream, static_cast<unsigned>(std::min<std::size_t>(wanted, most)),
                          kBlockLanes, told);
}

void PieceMover::move_items(const Layouts& layouts, void* target, const void* source,
                            CUstream stream) {
  launch_items(layouts, {address(target), address(source), 0, layouts.num_items()}, stream);
}

void PieceMover::upload_items(const Layouts& layouts, void* target, const std::byte* source,
                              CUstream stream) {
  const std::lock_guard lock(mutex_);
  const std::size_t item_bytes = layouts.item_bytes();
  const std::size_t num_items = layouts.num_items();
  const std::size_t most = kStagedBytes / item_bytes;
  for (std::size_t first = 0; first < num_items; first += most) {
    require_memory();
    Half& half = next_half();
    const std::size_t count = std::min(most, num_items - first);
    std::memcpy(half.staged, source + first * item_bytes, count * item_bytes);
    try {
      // Where the array would begin if all of it lay there.
      const std::uint64_t begin = address(half.staged) - first * item_bytes;
      launch_items(layouts, {address(target), begin, first, count}, stream);
      half.left.record(stream);
    } catch (...) {
      leave_if_in_use(stream);
      throw;
    }
  }
}

void PieceMover::download_items(const Layouts& layouts, std::byte* target, const void* source,
                                CUstream stream) {
  const std::lock_guard lock(mutex_);
  struct Staged {
    Half* half;
    std::size_t first;
    std::size_t count;
  };
  const std::size_t item_bytes = layouts.item_bytes();
  const std::size_t num_items = layouts.num_items();
  const std::size_t most = kStagedBytes / item_bytes;
  const auto unpack_items = [&](const Staged& staged) {
    const ScopedRelaxedCapture relaxed(context_.driver());
    staged.half->left.synchronize();
    std::memcpy(target + staged.first * item_bytes, staged.half->staged, staged.count * item_bytes);
  };
  std::optional<Staged> before;
  for (std::size_t first = 0; first < num_items; first += most) {
    require_memory();
    Half& half = next_half();
    const std::size_t count = std::min(most, num_items - first);
    try {
      const std::uint64_t begin = address(half.staged) - first * item_bytes;
      launch_items(layouts, {begin, address(source), first, count}, stream);
      half.left.record(stream);
    } catch (...) {
      leave_if_in_use(stream);
      throw;
    }
    if (before) unpack_items(*before);
    before = Staged{&half, first, count};
  }
  if (before) unpack_items(*before);
}

}  // namespace isthmus::transfer

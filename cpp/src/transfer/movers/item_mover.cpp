// Copies between memory layouts, by the kernels of kernels/strided.cu and kernels/convert.cu.
#include <algorithm>
#include <array>
#include <cstdint>

#include "transfer/movers/piece_mover.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kMaxDimensions = Layouts::kMaxDimensions + 1;  // and the words of an item

/// IsthmusLayouts of kernels/layouts.cuh.
struct KernelLayouts {
  std::uint64_t target, source;
  std::uint64_t first, count;
  std::array<std::uint64_t, kMaxDimensions> shape;
  std::array<std::uint64_t, kMaxDimensions> target_strides;
  std::array<std::uint64_t, kMaxDimensions> source_strides;
  std::uint32_t num_dimensions;
  std::uint32_t item_bytes;
};

}  // namespace

void PieceMover::move_items(const Layouts& layouts, const ItemRange& range, CUstream stream) const {
  KernelLayouts told{range.target, range.source, range.first, range.count, {}, {}, {}, 0, 0};
  told.item_bytes = static_cast<std::uint32_t>(layouts.target_item_bytes());
  for (const Dimension& dimension : layouts.dimensions()) {
    told.shape[told.num_dimensions] = dimension.length;
    told.target_strides[told.num_dimensions] = static_cast<std::uint64_t>(dimension.target_stride);
    told.source_strides[told.num_dimensions] = static_cast<std::uint64_t>(dimension.source_stride);
    ++told.num_dimensions;
  }
  const auto most = 8 * static_cast<unsigned>(std::max(1, context_.device().num_multiprocessors));
  const std::size_t wanted = (range.count + kBlockLanes - 1) / kBlockLanes;
  const auto num_blocks = static_cast<unsigned>(std::min<std::size_t>(wanted, most));
  // NOLINTBEGIN(bugprone-unchecked-optional-access): the obstacles were asked for
  if (!layouts.converts()) return strided_kernel_->launch(stream, num_blocks, kBlockLanes, told);
  convert_kernel_->launch(stream, num_blocks, kBlockLanes, told,
                          static_cast<std::uint32_t>(layouts.types().target),
                          static_cast<std::uint32_t>(layouts.types().source),
                          static_cast<std::uint32_t>(layouts.source_item_bytes()));
  // NOLINTEND(bugprone-unchecked-optional-access)
}

void ItemCrossing::enqueue(std::span<const LinkCopy> copies, CUstream stream) const {
  for (const LinkCopy& copy : copies) {
    // Slots hold the host's items.
    const std::size_t item_bytes =
        copy.to_device ? layouts_.source_item_bytes() : layouts_.target_item_bytes();
    // Where the host's array would begin if all of it lay around the slot.
    const std::uint64_t host = reinterpret_cast<std::uint64_t>(copy.host) - copy.device;
    mover_.move_items(layouts_,
                      {copy.to_device ? device_ : host, copy.to_device ? host : device_,
                       copy.device / item_bytes, copy.size_bytes / item_bytes},
                      stream);
  }
}

}  // namespace isthmus::transfer

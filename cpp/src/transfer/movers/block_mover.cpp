#include "transfer/movers/block_mover.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "transfer/movers/mover_kernels.hpp"
#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {
namespace {

constexpr unsigned kLanes = 1024;  // of a block
constexpr unsigned kWarpLanes = 32;
constexpr unsigned kWarps = kLanes / kWarpLanes;
constexpr std::uint32_t kMaxGroup = 32;  // one for each lane
constexpr std::size_t kMinMemoryBytes = std::size_t{64} << 10U;
constexpr std::size_t kMaxMemories = 8;
constexpr std::size_t kMaxSorting = 4;  // streams that sort beside each other, with 16 MiB each

/// The longest word of which all addresses, strides and sizes are multiples.
std::uint32_t word_of(const IsthmusBlocks& blocks) {
  std::uint64_t all = blocks.block_bytes | blocks.target_stride | blocks.source_stride;
  for (std::size_t i = 0; i < blocks.num_layers; ++i) all |= blocks.targets[i] | blocks.sources[i];
  for (const std::uint32_t word : {16U, 8U, 4U})
    if (all % word == 0) return word;
  return 1;
}

std::uint64_t divided(std::uint64_t number, std::uint64_t by) { return (number + by - 1) / by; }

/// A warp finds the places of as many pieces at once as leave none of the warps without work.
std::uint32_t group_of(std::uint64_t num_pieces, int num_multiprocessors, std::uint32_t least) {
  const std::uint64_t share =
      num_pieces / (std::uint64_t{kWarps} * static_cast<unsigned>(num_multiprocessors));
  return std::clamp(static_cast<std::uint32_t>(std::bit_floor(std::min<std::uint64_t>(share, 32))),
                    least, kMaxGroup);
}

unsigned grid_of(std::uint64_t num_groups, int num_multiprocessors) {
  return static_cast<unsigned>(std::min<std::uint64_t>(
      divided(num_groups, kWarps), static_cast<std::uint64_t>(num_multiprocessors)));
}

}  // namespace

BlockMover::~BlockMover() {
  if (!context_.in_own_process()) return;
  if (reports_ != nullptr) reports_->end();
  const auto await_all = [this](auto& memories) {
    for (auto& memory : memories) {
      try {
        const CurrentContext current(context_);
        const ScopedRelaxedCapture relaxed(context_.driver());
        memory->left().synchronize();
      } catch (...) {  // nobody knows what is under way
        keep_until_process_ends(std::move(memory));
      }
    }
  };
  await_all(memory_);
  await_all(sorting_);
}

std::string BlockMover::obstacle(const std::string& nvrtc) {
  return obstacle_with([&] { return mover_kernels(context_, nvrtc); });
}

std::string BlockMover::obstacle(const Kernels& kernels) {
  return obstacle_with([&] { return kernels; });
}

std::string BlockMover::obstacle_with(const std::function<Kernels()>& open) {
  const std::lock_guard lock(mutex_);
  if (prepared_) return obstacle_;
  obstacle_ = obstacle_to([&] {
    const ScopedRelaxedCapture relaxed(context_.driver());  // it belongs to nobody's capture
    prepare(open());
  });
  prepared_ = true;
  return obstacle_;
}

/// If it throws, nothing has changed.
void BlockMover::prepare(Kernels kernels) {
  const Driver& driver = context_.driver();
  const Kernel blocks = kernels.get("blocks", "isthmus_blocks");
  const Kernel count = kernels.get("blocks", "isthmus_blocks_count");
  const Kernel place = kernels.get("blocks", "isthmus_blocks_place");
  const Kernel pieces = kernels.get("blocks", "isthmus_blocks_pieces");
  int least = 0;
  int most_urgent = 0;
  driver.call(symbol::ctx_get_stream_priority_range)(&least, &most_urgent);
  reports_ = std::make_shared<IndexReports>(context_);
  most_urgent_ = most_urgent;
  blocks_ = blocks;
  count_ = count;
  place_ = place;
  pieces_ = pieces;
  kernels_.emplace(std::move(kernels));
}

void BlockMover::move(const IsthmusBlocks& blocks, const BlockLaunch& how, CUstream stream) {
  IsthmusBlocks reported = blocks;
  reported.report = how.report != 0 ? how.report : reports_->address_of_everybody();
  // A graph may run beside other copies, which the memory for sorted indices isn't for.
  if (how.sorts && !is_captured(context_.driver(), stream))
    return move_sorted(reported, how, stream);
  launch(reported, how, stream);
}

/// Memory that no other stream waits for; null if there is none. Copies can be made without.
std::unique_ptr<SortMemory> BlockMover::take_sorting(CUstream stream) {
  const ScopedRelaxedCapture relaxed(context_.driver());
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      sorting_, [&](const std::unique_ptr<SortMemory>& one) { return one->is_free_for(stream); });
  if (found != sorting_.end()) {
    std::unique_ptr<SortMemory> memory = std::move(*found);
    sorting_.erase(found);
    return memory;
  }
  if (num_sorting_ >= kMaxSorting) return nullptr;
  try {
    sorting_.reserve(kMaxSorting);
    auto memory = std::make_unique<SortMemory>(context_);
    ++num_sorting_;
    return memory;
  } catch (const OutOfDeviceMemory&) {
    return nullptr;
  }
}

void BlockMover::move_sorted(const IsthmusBlocks& blocks, const BlockLaunch& how, CUstream stream) {
  std::unique_ptr<SortMemory> memory = take_sorting(stream);
  if (memory == nullptr) return launch(blocks, how, stream);
  try {
    sort_and_launch(blocks, how, *memory, stream);
    memory->leave(stream);
  } catch (...) {  // nobody knows what is under way
    keep_until_process_ends(std::move(memory));
    const std::lock_guard lock(mutex_);
    --num_sorting_;
    throw;
  }
  const std::lock_guard lock(mutex_);
  sorting_.push_back(std::move(memory));
}

void BlockMover::sort_and_launch(const IsthmusBlocks& blocks, const BlockLaunch& how,
                                 const SortMemory& memory, CUstream stream) const {
  const Driver& driver = context_.driver();
  // Nothing to wait for, unless a handle is a new stream's by now.
  driver.call(symbol::stream_wait_event)(stream, memory.left().handle(), 0U);
  IsthmusPairs pairs{0,
                     0,
                     memory.targets(),
                     memory.sources(),
                     reinterpret_cast<std::uint32_t*>(memory.bins()),
                     how.host_end == HostEnd::target ? 1U : 0U};
  IsthmusBlocks sorted = blocks;
  sorted.target_index = pairs.targets;
  sorted.source_index = pairs.sources;
  sorted.report = memory.report();
  for (; pairs.first < blocks.num_blocks; pairs.first += SortMemory::kMaxBlocks) {
    sorted.num_blocks = pairs.count =
        std::min<std::uint64_t>(SortMemory::kMaxBlocks, blocks.num_blocks - pairs.first);
    driver.call(symbol::memset_d8_async)(memory.bins(), std::uint8_t{0}, kSortingBinsBytes, stream);
    const unsigned num_ctas = grid_of(divided(pairs.count, kWarpLanes), how.num_multiprocessors);
    for (const std::optional<Kernel>* step : {&count_, &place_})
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the obstacles were asked for
      (*step)->launch_as(settings_of(how), stream, num_ctas, kLanes, blocks, pairs);
    launch(sorted, how, stream);
  }
}

void BlockMover::launch(IsthmusBlocks blocks, const BlockLaunch& how, CUstream stream) const {
  blocks.word_bytes = word_of(blocks);
  blocks.is_paced = how.host_end == HostEnd::target ? 1 : 0;
  blocks.piece_bytes = kIsthmusRowWords * blocks.word_bytes;
  blocks.pieces_a_block = divided(blocks.block_bytes, blocks.piece_bytes);
  blocks.num_pieces = blocks.pieces_a_block * blocks.num_blocks * blocks.num_layers;
  blocks.group = group_of(blocks.num_pieces, how.num_multiprocessors, kIsthmusRows);
  const unsigned num_ctas =
      grid_of(divided(blocks.num_pieces, blocks.group), how.num_multiprocessors);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the obstacles were asked for
  blocks_->launch_as(settings_of(how), stream, num_ctas, kLanes, blocks);
}

void BlockMover::move_pieces(CUdeviceptr pieces, std::size_t num_pieces, const BlockLaunch& how,
                             CUstream stream) const {
  const std::uint32_t group = group_of(num_pieces, how.num_multiprocessors, 1);
  const unsigned num_ctas = grid_of(divided(num_pieces, group), how.num_multiprocessors);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the obstacles were asked for
  pieces_->launch_as(settings_of(how), stream, num_ctas, kLanes, pieces,
                     static_cast<unsigned long long>(num_pieces), group,
                     how.host_end == HostEnd::target ? 1U : 0U);
}

std::unique_ptr<LaunchMemory> BlockMover::take_memory(std::size_t size_bytes) {
  const ScopedRelaxedCapture relaxed(context_.driver());
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const std::unique_ptr<LaunchMemory>& memory) {
    return memory->size_bytes() >= size_bytes && memory->left().complete();
  };
  auto found = std::ranges::find_if(memory_, fits);
  if (found == memory_.end() && memory_.size() >= kMaxMemories) {
    memory_.front()->left().synchronize();
    found = memory_.begin();
  }
  std::unique_ptr<LaunchMemory> memory;
  if (found != memory_.end()) {
    memory = std::move(*found);
    memory_.erase(found);
  }
  if (memory == nullptr || memory->size_bytes() < size_bytes)
    memory = std::make_unique<LaunchMemory>(context_,
                                            std::bit_ceil(std::max(size_bytes, kMinMemoryBytes)));
  return memory;
}

void BlockMover::give_back(std::unique_ptr<LaunchMemory> memory, std::optional<CUstream> used_in) {
  if (used_in) {
    try {
      memory->left().record(*used_in);
    } catch (...) {
      if (becomes_idle(context_.driver(), *used_in)) throw;
      keep(std::move(memory));
      throw_of_memory_in_use();
    }
  }
  const std::lock_guard lock(mutex_);
  memory_.push_back(std::move(memory));
}

void BlockMover::keep(std::unique_ptr<LaunchMemory> memory) noexcept {
  keep_until_process_ends(std::move(memory));
}

}  // namespace isthmus::transfer

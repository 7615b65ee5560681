#include "transfer/blocks/block_copies.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/sorted_rows.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/request/stream_order.hpp"

namespace isthmus::transfer {

/// What is known of a copy while its way is chosen.
struct BlockCopies::Chosen {
  BlockRoute route;
  KnownRanges* known = nullptr;  ///< null: no context, so that all memory is the host's
  std::string no_kernel;         ///< why kernels can't make it
  bool indices_on_device = false;
  std::vector<std::uint64_t> memory;    ///< of `indices`, unless a kernel reads them there
  std::optional<BlockIndices> indices;  ///< if the CPU knows them
};

namespace {

/// Of ways that cost about as much, the batch is the quietest.
constexpr double kAboutAsMuch = 1.05;
/// Fewer bytes are copied before a batch has been asked for.
constexpr std::size_t kMinBatchBytes = std::size_t{1} << 20U;

bool is_kernels(MemoryKind kind) { return is_on_device(kind) || kind == MemoryKind::pinned; }

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

IsthmusBlocks kernel_blocks(const CheckedPools& pools, std::size_t num_blocks) {
  IsthmusBlocks blocks;
  blocks.target_count = pools.target.count();
  blocks.source_count = pools.source.count();
  blocks.block_bytes = pools.block_bytes;
  blocks.num_blocks = num_blocks;
  return blocks;
}

/// Layers with equal strides, up to kIsthmusLayers, make a launch.
std::vector<IsthmusBlocks> launches_of(const CheckedPools& pools, const IsthmusBlocks& all) {
  std::vector<IsthmusBlocks> launches;
  for (std::size_t layer = 0; layer < pools.target.pools.size(); ++layer) {
    const BlockPool& target = pools.target.pools[layer];
    const BlockPool& source = pools.source.pools[layer];
    const bool joins = !launches.empty() && launches.back().num_layers < kIsthmusLayers &&
                       launches.back().target_stride == target.stride_bytes &&
                       launches.back().source_stride == source.stride_bytes;
    if (!joins) {
      launches.push_back(all);
      launches.back().target_stride = target.stride_bytes;
      launches.back().source_stride = source.stride_bytes;
    }
    IsthmusBlocks& last = launches.back();
    last.targets[last.num_layers] = address_of(target.address);
    last.sources[last.num_layers] = address_of(source.address);
    ++last.num_layers;
  }
  return launches;
}

/// Calls `use(target, source, size_bytes)` for each copy between contiguous memory.
template <typename Use>
void each_copy(const CheckedPools& pools, const BlockIndices& indices, Use use) {
  const auto place = [](const BlockPool& pool, std::uint64_t block) {
    return static_cast<std::byte*>(pool.address) + block * pool.stride_bytes;
  };
  for (std::size_t layer = 0; layer < pools.target.pools.size(); ++layer) {
    const BlockPool& target = pools.target.pools[layer];
    const BlockPool& source = pools.source.pools[layer];
    const bool joined =
        target.stride_bytes == pools.block_bytes && source.stride_bytes == pools.block_bytes;
    indices.each_run([&](const BlockIndices::Run& run) {
      if (joined)
        return use(place(target, run.target), place(source, run.source),
                   run.num_blocks * pools.block_bytes);
      for (std::size_t i = 0; i < run.num_blocks; ++i)
        use(place(target, run.target + i), place(source, run.source + i), pools.block_bytes);
    });
  }
}

std::vector<LinkCopy> link_copies(const CheckedPools& pools, const BlockIndices& indices) {
  const bool up = pools.target.on_device();
  std::vector<LinkCopy> copies;
  each_copy(pools, indices, [&](std::byte* target, std::byte* source, std::size_t size_bytes) {
    copies.push_back({up ? source : target, address_of(up ? target : source), size_bytes, up});
  });
  return copies;
}

void fill_staged(PreparedWork& work, const CheckedPools& pools, const BlockIndices& indices) {
  each_copy(pools, indices, [&](std::byte* target, std::byte* source, std::size_t size_bytes) {
    work.copies.push_back({target, source, size_bytes});
  });
  if (work.once != nullptr)
    work.device->block_mover().give_back(std::move(work.once), std::nullopt);
  work.device = nullptr;
}

void require_index_items(const BlockIndex& index, const std::string& name) {
  if (index.item_bytes != 4 && index.item_bytes != 8)
    throw UsageError("the " + name + " must be int32 or int64, not numbers of " +
                     std::to_string(index.item_bytes) + " bytes");
}

void require_index(const HostMemory& host_memory, const BlockIndex& index, std::size_t num_blocks,
                   const char* role) {
  require_index_items(index, std::string(role) + "_index");
  if (index.data == nullptr)
    throw UsageError("the " + std::string(role) + "_index is a null pointer");
  if (host_memory.touch_pageable(index.data, num_blocks * index.item_bytes, host::Access::read) ==
      HostTouch::forbidden)
    throw UsageError("the " + std::string(role) +
                     "_index is not memory that can be read: nothing is there, or it was freed");
}

}  // namespace

/// The device whose kernels reach both ends; null, with a reason, if there is none.
DevicePaths* BlockCopies::find_device(const CheckedPools& pools, Chosen& chosen) {
  const PoolEnd& target = pools.target;
  const PoolEnd& source = pools.source;
  const int device = target.on_device() ? target.device : source.device;
  if (device < 0 || !is_kernels(target.kind) || !is_kernels(source.kind)) {
    chosen.no_kernel = "kernels reach a device's memory and pinned memory, at both ends";
    return nullptr;
  }
  chosen.route.direction =
      target.on_device() ? Direction::host_to_device : Direction::device_to_host;
  const bool both = target.on_device() && source.on_device();
  chosen.route.to_peer = both && target.device != source.device;
  chosen.route.crosses = !both || chosen.route.to_peer;
  if (chosen.route.to_peer) {
    devices_.join(target.device, source.device);
    if (!devices_.can_join(target.device, source.device)) {
      chosen.no_kernel = "the two devices can't reach each other's memory";
      return nullptr;
    }
  }
  DevicePaths& paths = devices_.at(device);
  const ContextOfDevice context(paths.context());
  chosen.no_kernel = devices_.block_obstacle(paths);
  return chosen.no_kernel.empty() ? &paths : nullptr;
}

/// Indices on the host, or those of a device that kernels don't use.
void BlockCopies::read_indices(const BlockCopy& copy, const CheckedPools& pools, CUstream stream,
                               Chosen& chosen) {
  BlockCopy read = copy;
  std::array<std::vector<std::uint64_t>, 2> from_device;
  if (chosen.indices_on_device) {
    if (is_captured(driver_, stream))
      throw UsageError(
          "indices on a device can't be read by the CPU in a captured stream: pin both pools");
    const auto fetch = [&](BlockIndex& index, std::vector<std::uint64_t>& memory) {
      const std::size_t size_bytes = copy.num_blocks * index.item_bytes;
      memory.resize((size_bytes + 7) / 8);
      copy_by_driver(
          driver_,
          {memory.data(), index.data, size_bytes, MemoryKind::pageable, MemoryKind::device},
          stream);
      index.data = memory.data();
    };
    fetch(read.target_index, from_device[0]);
    fetch(read.source_index, from_device[1]);
  } else {
    require_index(host_memory_, read.target_index, copy.num_blocks, "target");
    require_index(host_memory_, read.source_index, copy.num_blocks, "source");
  }
  const std::size_t size_bytes =
      BlockIndices::bytes_for(copy.num_blocks, pools.target.count(), pools.source.count());
  chosen.memory.resize((size_bytes + 7) / 8);
  chosen.indices.emplace(read, pools.target.count(), pools.source.count(),
                         reinterpret_cast<std::byte*>(chosen.memory.data()));
  chosen.indices->require_distinct_targets(pools.target.count());
  if (pools.in_place) chosen.indices->require_disjoint_ends();
}

/// Finds out where the indices are, and brings those of the host to where a kernel reads them.
void BlockCopies::place_indices(PreparedWork& work, const BlockCopy& copy,
                                const CheckedPools& pools, CUstream stream, Uses uses,
                                Chosen& chosen) {
  const auto range_of = [&](const BlockIndex& index) {
    return chosen.known != nullptr && index.data != nullptr
               ? chosen.known->at(End::source, address_of(index.data), 1, true)
               : MemoryRange{};
  };
  const MemoryRange target = range_of(copy.target_index);
  const MemoryRange source = range_of(copy.source_index);
  chosen.indices_on_device = is_on_device(target.kind);
  if (chosen.indices_on_device != is_on_device(source.kind))
    throw UsageError("one index is on a device and the other on the host: put both on one side");
  if (!chosen.indices_on_device || work.device == nullptr) {
    read_indices(copy, pools, stream, chosen);
    if (work.device != nullptr)
      work.launches = launches_of(pools, with_read(work, pools, uses, chosen));
    return;
  }
  IsthmusBlocks blocks = kernel_blocks(pools, copy.num_blocks);
  blocks.target_index_bytes = use_on_device(work, copy, copy.target_index, target, "target_index");
  blocks.source_index_bytes = use_on_device(work, copy, copy.source_index, source, "source_index");
  blocks.target_index = address_of(copy.target_index.data);
  blocks.source_index = address_of(copy.source_index.data);
  work.launches = launches_of(pools, blocks);
  work.report = work.device->block_mover().reports()->take();
}

/// Checks an index that a kernel will read where it is.
///
/// Returns     the bytes of a number
std::uint32_t BlockCopies::use_on_device(PreparedWork& work, const BlockCopy& copy,
                                         const BlockIndex& index, const MemoryRange& range,
                                         const char* role) const {
  const int device = work.device->context().device().ordinal;
  if (range.kind == MemoryKind::device && range.device != device)
    throw UsageError("the " + std::string(role) + " is on device " + std::to_string(range.device) +
                     ", and device " + std::to_string(device) +
                     " makes the copy: copy the index there");
  require_index_items(index, role);
  require_inside(driver_, range, address_of(index.data), copy.num_blocks * index.item_bytes, role);
  if (!work.buffers.empty()) work.buffers.push_back({address_of(index.data), range.buffer_id});
  return static_cast<std::uint32_t>(index.item_bytes);
}

/// Puts indices that were read to where a kernel reads them.
IsthmusBlocks BlockCopies::with_read(PreparedWork& work, const CheckedPools& pools, Uses uses,
                                     const Chosen& chosen) {
  const std::span bytes = std::as_bytes(std::span(chosen.memory));
  std::uint64_t place = 0;
  if (uses == Uses::many) place = keep_on_device(work, bytes);
  if (uses == Uses::once) {
    work.once = work.device->block_mover().take_memory(bytes.size());
    std::ranges::copy(bytes, work.once->data());
    place = address_of(work.once->data());
  }
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): they were read
  const auto& indices = *chosen.indices;
  IsthmusBlocks blocks = kernel_blocks(pools, indices.size());
  const std::size_t item_bytes = indices.item_bytes();
  blocks.target_index = place;
  blocks.source_index = place + indices.size() * item_bytes;
  blocks.target_index_bytes = blocks.source_index_bytes = static_cast<std::uint32_t>(item_bytes);
  return blocks;
}

/// Why a way can't be taken; empty if it can.
std::string BlockCopies::obstacle(Way way, const PreparedWork& work, const Chosen& chosen) const {
  if (way == Way::staged) return {};
  if (work.device == nullptr) return chosen.no_kernel;
  if (way == Way::kernel) return {};
  if (chosen.indices_on_device) return "a batch needs indices on the host";
  if (!chosen.route.crosses || chosen.route.to_peer) return "a batch crosses the host's link";
  if (work.launch.urgent) return "a batch waits for copies that were asked for before";
  if (!driver_.has(symbol::memcpy_batch_async)) return "cuMemcpyBatchAsync needs CUDA 12.8";
  return {};
}

void BlockCopies::choose(PreparedWork& work, const CheckedPools& pools, const BlockOptions& options,
                         Chosen& chosen) {
  const std::optional<Way> named = way_named(options.way);
  const std::size_t num_layers = pools.target.pools.size();
  const std::size_t num_blocks = work.told.num_copies;
  if (named) {
    const std::string why = obstacle(*named, work, chosen);
    if (!why.empty())
      throw Unavailable("a copy of blocks by the way '" + std::string(options.way) + "'", why,
                        "another way, or none named");
  }
  if (work.device == nullptr || named == Way::staged) {
    work.way = Way::staged;
    work.told.reason = named ? "it was named" : chosen.no_kernel;
    return;
  }
  BlockVolume volume{pools.block_bytes, num_blocks, 0};
  const bool joins = std::ranges::all_of(work.launches, [&](const IsthmusBlocks& each) {
    return each.target_stride == pools.block_bytes && each.source_stride == pools.block_bytes;
  });
  if (chosen.indices && work.told.size_bytes >= kMinBatchBytes &&
      obstacle(Way::batch, work, chosen).empty())
    volume.num_runs = joins ? chosen.indices->num_runs() * num_layers : num_blocks;
  const auto seconds = [&](Way way) {
    return seconds_of(way, *work.device, chosen.route, volume, work.launch.num_multiprocessors);
  };
  work.way = named.value_or(Way::kernel);
  work.told.seconds = seconds(work.way);
  work.told.reason = named ? "it was named"
                           : "the quietest way within 5 % of the cheapest, by the costs in "
                             "docs/blocks.md";
  if (named || volume.num_runs == 0) return;
  const double by_batch = seconds(Way::batch);
  if (by_batch > kAboutAsMuch * work.told.seconds) return;
  work.way = Way::batch;
  work.told.seconds = by_batch;
}

std::shared_ptr<PreparedWork> BlockCopies::prepare(const BlockCopy& copy,
                                                   const BlockOptions& options, Uses uses) {
  if (options.num_multiprocessors < 0) throw UsageError("a copy needs one multiprocessor at least");
  const Devices::AnyContext any = devices_.any_context(false);
  KnownRanges ranges(driver_, host_memory_);
  KnownRanges* const known = any.exists ? &ranges : nullptr;
  const CheckedPools pools = check_pools(driver_, host_memory_, copy, known);
  auto work = fresh();
  const std::size_t num_blocks = copy.num_blocks * pools.target.pools.size();
  work->told.num_copies = num_blocks;
  work->told.size_bytes = num_blocks * pools.block_bytes;
  if (uses == Uses::many && options.checks_memory) work->buffers = pools.buffers;
  if (num_blocks == 0) {
    work->way = Way::staged;
    work->told.reason = "there are no blocks";
  } else {
    const auto stream = reinterpret_cast<CUstream>(options.stream);
    Chosen chosen;
    chosen.known = known;
    work->device = find_device(pools, chosen);
    if (work->device != nullptr) {
      work->launch = launch_for(*work->device, chosen.route, pools.block_bytes);
      work->launch.urgent = options.priority == BlockPriority::urgent;
      if (options.num_multiprocessors != 0)
        work->launch.num_multiprocessors = options.num_multiprocessors;
      const PoolEnd& host = work->launch.host_end == HostEnd::target ? pools.target : pools.source;
      work->launch.sorts = work->launch.host_end != HostEnd::none &&
                           is_worth_sorting(host.count() * host.pools.front().stride_bytes,
                                            pools.block_bytes, copy.num_blocks);
    }
    const std::optional<ContextOfDevice> context = devices_.context_for(work->device, stream);
    place_indices(*work, copy, pools, stream, uses, chosen);
    choose(*work, pools, options, chosen);
    if (work->way == Way::staged && !chosen.indices) read_indices(copy, pools, stream, chosen);
    if (work->way == Way::staged && chosen.indices) fill_staged(*work, pools, *chosen.indices);
    if (work->way == Way::batch && chosen.indices)
      work->batch.emplace(work->device->context(), link_copies(pools, *chosen.indices));
  }
  if (work->way == Way::kernel) work->told.num_multiprocessors = work->launch.num_multiprocessors;
  work->told.way = name_of(work->way);
  return work;
}

void BlockCopies::check() {
  for (int device = 0; device < driver_.device_count(); ++device)
    if (IndexReports* const reports = devices_.at(device).block_mover().reports())
      if (const std::string wrong = reports->take_any(); !wrong.empty()) throw UsageError(wrong);
}

}  // namespace isthmus::transfer

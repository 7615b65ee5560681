#include "transfer/blocks/block_pools.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

#include "transfer/request/task.hpp"

namespace isthmus::transfer {
namespace {

/// A pool's memory, with the name of the pool.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  const BlockPool* pool = nullptr;
  std::size_t layer = 0;
  bool written = false;

  std::string name() const {
    return "layer " + std::to_string(layer) + " of the " + (written ? "target" : "source");
  }
};

std::uintptr_t address_of(const BlockPool& pool) {
  return reinterpret_cast<std::uintptr_t>(pool.address);
}

std::size_t span_of(const BlockPool& pool, std::size_t block_bytes) {
  return (pool.count - 1) * pool.stride_bytes + block_bytes;
}

/// Fills in strides that aren't given.
std::vector<BlockPool> with_strides(std::span<const BlockPool> pools, std::size_t block_bytes,
                                    const char* role) {
  std::vector<BlockPool> found(pools.begin(), pools.end());
  for (std::size_t layer = 0; layer < found.size(); ++layer) {
    BlockPool& pool = found[layer];
    const auto refuse = [&](const std::string& why) {
      throw UsageError("layer " + std::to_string(layer) + " of the " + role + " " + why);
    };
    if (pool.count == 0) refuse("has no blocks");
    if (pool.address == nullptr) refuse("is a null pointer");
    if (pool.stride_bytes == 0 || pool.count == 1) pool.stride_bytes = block_bytes;
    if (pool.stride_bytes < block_bytes)
      refuse("has a block each " + std::to_string(pool.stride_bytes) + " bytes, and each has " +
             std::to_string(block_bytes) + ": they overlap");
    if (pool.count - 1 > (SIZE_MAX / 2 - block_bytes) / pool.stride_bytes)
      refuse("has more blocks than an address space holds");
  }
  return found;
}

bool is_same_pool(const Extent& one, const Extent& other) {
  return one.begin == other.begin && one.pool->count == other.pool->count &&
         one.pool->stride_bytes == other.pool->stride_bytes;
}

/// True if the blocks of two pools lie between each other, as layers of a page do.
bool interleave(const Extent& one, const Extent& other, std::size_t block_bytes) {
  const std::size_t stride = one.pool->stride_bytes;
  if (stride != other.pool->stride_bytes) return false;
  const std::size_t apart = (other.begin - one.begin) % stride;  // sorted by `begin`
  return apart >= block_bytes && stride - apart >= block_bytes;
}

/// Returns     whether a pool is target and source
bool require_apart(const CheckedPools& pools) {
  std::vector<Extent> extents;
  const auto add = [&](const PoolEnd& end, bool written) {
    for (std::size_t layer = 0; layer < end.pools.size(); ++layer) {
      const BlockPool& pool = end.pools[layer];
      const std::uintptr_t begin = address_of(pool);
      extents.push_back({begin, begin + span_of(pool, pools.block_bytes), &pool, layer, written});
    }
  };
  add(pools.target, true);
  add(pools.source, false);
  std::ranges::sort(extents, {}, &Extent::begin);
  bool in_place = false;
  for (auto one = extents.begin(); one != extents.end(); ++one)
    for (auto other = one + 1; other != extents.end() && other->begin < one->end; ++other) {
      if (!one->written && !other->written) continue;
      const bool same = one->written != other->written && is_same_pool(*one, *other);
      in_place = in_place || same;
      if (!same && !interleave(*one, *other, pools.block_bytes))
        throw UsageError(one->name() + " and " + other->name() +
                         " overlap: pass one pool for both, or copy through a third");
    }
  return in_place;
}

/// Finds out what kind of memory an end is.
class Asking {
public:
  Asking(const Driver& driver, const HostMemory& host_memory, KnownRanges* known)
      : driver_(driver), host_memory_(host_memory), known_(known) {}

  void find_kind(PoolEnd& end, bool written, CheckedPools& pools) {
    for (std::size_t layer = 0; layer < end.pools.size(); ++layer) {
      const BlockPool& pool = end.pools[layer];
      const MemoryRange range = range_of(pool, written, pools);
      if (layer == 0) {
        end.kind = range.kind;
        end.device = range.kind == MemoryKind::device ? range.device : -1;
      } else if (end.kind != range.kind || (end.on_device() && end.device != range.device)) {
        throw UsageError("layer " + std::to_string(layer) + " of the " +
                         (written ? "target" : "source") +
                         " lies in another memory than layer 0: copy each by a call of its own");
      }
    }
  }

private:
  MemoryRange range_of(const BlockPool& pool, bool written, CheckedPools& pools) {
    const char* const role = written ? "target" : "source";
    const std::uintptr_t address = address_of(pool);
    const std::size_t size_bytes = span_of(pool, pools.block_bytes);
    MemoryRange range;
    if (known_ != nullptr)
      range = known_->at(written ? End::target : End::source, address, size_bytes, true);
    require_inside(driver_, range, address, size_bytes, role);
    if (is_on_device(range.kind) || range.kind == MemoryKind::pinned) note(range, address, pools);
    if (is_on_device(range.kind)) return range;
    if (is_pinned_whole(driver_, range, address, size_bytes)) return range;
    const auto access = written ? host::Access::write : host::Access::read;
    const HostTouch touch = host_memory_.touch_pageable(pool.address, size_bytes, access);
    if (touch == HostTouch::forbidden) refuse_untouchable(role, access);
    return {};
  }
  static void note(const MemoryRange& range, std::uintptr_t address, CheckedPools& pools) {
    const auto same = [&](const KnownBuffer& buffer) { return buffer.id == range.buffer_id; };
    if (std::ranges::none_of(pools.buffers, same))
      pools.buffers.push_back({address, range.buffer_id});
  }

  const Driver& driver_;
  const HostMemory& host_memory_;
  KnownRanges* known_;
};

}  // namespace

std::size_t PoolEnd::count() const noexcept {
  return std::ranges::min(pools, {}, &BlockPool::count).count;
}

CheckedPools check_pools(const Driver& driver, const HostMemory& host_memory, const BlockCopy& copy,
                         KnownRanges* known) {
  if (copy.targets.empty() || copy.targets.size() != copy.sources.size())
    throw UsageError("the target has " + std::to_string(copy.targets.size()) +
                     " layers and the source " + std::to_string(copy.sources.size()) +
                     ": both need the same number, one at least");
  if (copy.block_bytes == 0) throw UsageError("blocks of 0 bytes can't be copied");
  CheckedPools pools;
  pools.block_bytes = copy.block_bytes;
  pools.target.pools = with_strides(copy.targets, copy.block_bytes, "target");
  pools.source.pools = with_strides(copy.sources, copy.block_bytes, "source");
  pools.in_place = require_apart(pools);
  Asking asking(driver, host_memory, known);
  asking.find_kind(pools.target, true, pools);
  asking.find_kind(pools.source, false, pools);
  return pools;
}

}  // namespace isthmus::transfer

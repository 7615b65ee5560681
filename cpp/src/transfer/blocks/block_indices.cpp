#include "transfer/blocks/block_indices.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include <isthmus/errors.hpp>

namespace isthmus::transfer {
namespace {

template <typename Item>
std::int64_t item_at(const void* items, std::size_t i) {
  Item item;
  std::memcpy(&item, static_cast<const std::byte*>(items) + i * sizeof item, sizeof item);
  return item;
}

[[noreturn]] void refuse_index(const char* role, std::size_t i, std::int64_t index,
                               std::size_t count) {
  throw UsageError(std::string(role) + "_index[" + std::to_string(i) + "] is " +
                   std::to_string(index) + ", and the " + role + " has " + std::to_string(count) +
                   " blocks: nothing was copied");
}

/// The loop has no branches, so that the compiler vectorises it.
template <typename Item, typename Packed>
void pack(const char* role, const void* items, std::size_t size, std::size_t count, std::byte* to) {
  auto* const packed = reinterpret_cast<Packed*>(to);
  bool outside = false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto index = static_cast<std::uint64_t>(item_at<Item>(items, i));
    outside |= index >= count;
    packed[i] = static_cast<Packed>(index);
  }
  if (!outside) return;
  std::size_t i = 0;
  while (static_cast<std::uint64_t>(item_at<Item>(items, i)) < count) ++i;
  refuse_index(role, i, item_at<Item>(items, i), count);
}

void pack(const char* role, const BlockIndex& index, std::size_t size, std::size_t count,
          std::size_t packed_bytes, std::byte* to) {
  if (packed_bytes == 4)
    return index.item_bytes == 4
               ? pack<std::int32_t, std::uint32_t>(role, index.data, size, count, to)
               : pack<std::int64_t, std::uint32_t>(role, index.data, size, count, to);
  return index.item_bytes == 4
             ? pack<std::int32_t, std::uint64_t>(role, index.data, size, count, to)
             : pack<std::int64_t, std::uint64_t>(role, index.data, size, count, to);
}

}  // namespace

BlockIndices::BlockIndices(const BlockCopy& copy, std::size_t target_count,
                           std::size_t source_count, std::byte* memory)
    : size_(copy.num_blocks),
      item_bytes_(item_bytes_for(target_count, source_count)),
      targets_(memory),
      sources_(memory + size_ * item_bytes_) {
  pack("target", copy.target_index, size_, target_count, item_bytes_, targets_);
  pack("source", copy.source_index, size_, source_count, item_bytes_, sources_);
}

/// A bit for each block, unless the pool has many more blocks than are copied.
bool BlockIndices::may_repeat_targets(std::size_t target_count) const {
  const std::size_t num_words = target_count / 64 + 1;
  if (num_words > 4 * size_ + 1024) return true;
  std::vector<std::uint64_t> written(num_words);
  std::uint64_t repeated = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const std::uint64_t index = target(i);
    std::uint64_t& word = written[index / 64];
    const std::uint64_t bit = std::uint64_t{1} << index % 64;
    repeated |= word & bit;
    word |= bit;
  }
  return repeated != 0;
}

void BlockIndices::require_distinct_targets(std::size_t target_count) const {
  if (size_ < 2 || !may_repeat_targets(target_count)) return;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::size_t>> all;
  all.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) all.emplace_back(target(i), source(i), i);
  std::ranges::sort(all);
  for (std::size_t i = 1; i < size_; ++i) {
    const auto& [target_before, source_before, position_before] = all[i - 1];
    const auto& [target, source, position] = all[i];
    if (target != target_before || source == source_before) continue;
    const auto [first, second] = std::minmax(position_before, position);
    throw UsageError("target_index[" + std::to_string(second) + "] is " + std::to_string(target) +
                     ", as is target_index[" + std::to_string(first) +
                     "], and their sources differ: only one of the two could remain");
  }
}

void BlockIndices::require_disjoint_ends() const {
  std::vector<std::uint64_t> written;
  written.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) written.push_back(target(i));
  std::ranges::sort(written);
  for (std::size_t i = 0; i < size_; ++i)
    if (std::ranges::binary_search(written, source(i)))
      throw UsageError("block " + std::to_string(source(i)) + " is source_index[" +
                       std::to_string(i) +
                       "] and also a target in the same pool: the blocks of a call have no order");
}

std::size_t BlockIndices::num_runs() const {
  std::size_t count = 0;
  each_run([&](const Run& /*run*/) { ++count; });
  return count;
}

}  // namespace isthmus::transfer

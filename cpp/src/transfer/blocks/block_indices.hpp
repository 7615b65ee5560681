// Indices of blocks on the host: copied, checked, and joined to runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <isthmus/blocks.hpp>

namespace isthmus::transfer {

/// Both indices of a copy, checked and in one form: as int32 where both pools are small enough for
/// that, which halves what the kernel reads. Doesn't own the memory.
class BlockIndices {
public:
  /// The bytes that both indices need.
  static std::size_t bytes_for(std::size_t num_blocks, std::size_t target_count,
                               std::size_t source_count) noexcept {
    return 2 * num_blocks * item_bytes_for(target_count, source_count);
  }
  /// Copies them.
  ///
  /// copy        with indices on the host
  /// memory      bytes_for() bytes, aligned to 8; outlives this
  /// Throws      UsageError that names the position of an index outside its pool.
  BlockIndices(const BlockCopy& copy, std::size_t target_count, std::size_t source_count,
               std::byte* memory);

  std::size_t size() const noexcept { return size_; }
  std::size_t item_bytes() const noexcept { return item_bytes_; }
  std::uint64_t target(std::size_t i) const noexcept { return at(targets_, i); }
  std::uint64_t source(std::size_t i) const noexcept { return at(sources_, i); }

  /// Checks that no block is written twice, unless from the same source: then both writes are the
  /// same.
  ///
  /// Throws      UsageError
  void require_distinct_targets(std::size_t target_count) const;
  /// Checks that no block is both read and written: for a pool that is target and source.
  ///
  /// Throws      UsageError
  void require_disjoint_ends() const;

  /// Blocks that follow each other at both ends.
  struct Run {
    std::uint64_t target = 0;
    std::uint64_t source = 0;
    std::size_t num_blocks = 0;
  };
  /// Calls `use(Run)` for each run, in order.
  template <typename Use>
  void each_run(Use use) const {
    for (std::size_t i = 0; i < size_;) {
      Run run{target(i), source(i), 1};
      while (i + run.num_blocks < size_ &&
             target(i + run.num_blocks) == run.target + run.num_blocks &&
             source(i + run.num_blocks) == run.source + run.num_blocks)
        ++run.num_blocks;
      use(run);
      i += run.num_blocks;
    }
  }
  std::size_t num_runs() const;

private:
  static std::size_t item_bytes_for(std::size_t target_count, std::size_t source_count) noexcept {
    return (target_count | source_count) >> 31U == 0 ? 4 : 8;
  }
  std::uint64_t at(const std::byte* items, std::size_t i) const noexcept {
    if (item_bytes_ == 8) return reinterpret_cast<const std::uint64_t*>(items)[i];
    return reinterpret_cast<const std::uint32_t*>(items)[i];
  }
  bool may_repeat_targets(std::size_t target_count) const;

  std::size_t size_;
  std::size_t item_bytes_;
  std::byte* targets_;
  std::byte* sources_;
};

}  // namespace isthmus::transfer

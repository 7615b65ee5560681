// Which pages leave the GPU when its memory is full.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "pages/page_table.hpp"
#include "pages/prefetch_tree.hpp"

namespace isthmus::pages {

enum class EvictionKind : std::uint8_t {
  lru,        ///< the page whose last use is longest ago (the driver's, with pages of 2 MiB)
  tree,       ///< the 64 KiB block, and the largest subtree around it that is now half empty
  block_64k,  ///< the 64 KiB block whose last use is longest ago
  clock,      ///< pages in turn, but those used since the last turn
};

/// What counts as a use of a page.
enum class Recency : std::uint8_t {
  migration,  ///< something of it moved: all that a driver sees
  access,     ///< any access of the GPU
};

struct EvictionPolicy {
  EvictionKind kind = EvictionKind::lru;
  std::uint64_t limit_bytes = 0;  ///< of the GPU's memory for pages
  /// Source: open-gpu-kernel-modules, uvm_pmm_gpu.c: root chunks are marked used by the driver's
  /// own work only. clock always counts accesses.
  Recency recency = Recency::migration;
  /// tree, block_64k: what leaves at once. The driver's big pages.
  std::uint32_t block_bytes = 64U << 10U;
  /// tree: a subtree leaves if less than this share of it stays. Source:
  /// cpp/src/pages/prefetch_tree.hpp, largest_sparse_subtree.
  std::uint32_t tree_threshold_percent = 50;
};

/// Throws      UsageError for a name that is none, with those that are.
EvictionKind eviction_kind(std::string_view name);
std::string_view eviction_name(EvictionKind kind);

/// A part of a page that left the GPU.
struct Victim {
  std::uint32_t slot = 0;
  Span part;                     ///< whose memory is free again; no longer translated
  std::uint32_t back_bytes = 0;  ///< that go back over the link
};

/// Frames of the GPU's memory: a page (tree, block_64k: a block) of which anything is there or on
/// its way takes a whole one, because translation knows nothing smaller.
class Eviction {
public:
  /// table       outlives this
  /// Throws      UsageError if nothing fits under the limit, or if the table's policy can't keep
  ///             pages with parts taken out.
  Eviction(const EvictionPolicy& policy, PageTable& table);

  /// A transfer to the GPU has been planned, or a write made bytes valid without one (WriteMiss).
  void started(std::uint32_t slot, Span transfer);

  /// The GPU uses what is there. Needed only if wants_accesses().
  void used(std::uint32_t slot, std::uint32_t offset_bytes);
  bool wants_accesses() const;

  /// The page is the CPU's again, by PageTable::cpu_request.
  void left(std::uint32_t slot);

  /// Takes frames from the GPU until what is left is within the limit. Frames of pages with
  /// transfers under way stay, and so do those of `kept_slot`: it may not suffice (fits()).
  ///
  /// Returns     what has left, in order; valid until the next call.
  std::span<const Victim> make_room(std::uint32_t kept_slot);

  bool fits() const { return framed_bytes() <= policy_.limit_bytes; }
  std::uint64_t framed_bytes() const { return num_frames_ * frame_bytes_; }

private:
  struct Frame {
    std::uint32_t older = kNoFrame;
    std::uint32_t newer = kNoFrame;
    bool present = false;
    bool referenced = false;  ///< since clock's hand passed
  };
  static constexpr std::uint32_t kNoFrame = ~std::uint32_t{0};

  std::uint32_t frame_of(std::uint32_t slot, std::uint32_t offset_bytes) const;
  void append(std::uint32_t frame);
  void remove(std::uint32_t frame);
  std::uint32_t next_victim(std::uint32_t kept_slot);
  bool may_leave(std::uint32_t frame, std::uint32_t kept_slot) const;
  void evict(std::uint32_t frame);
  UnitRun with_sparse_subtree(std::uint32_t frame) const;

  EvictionPolicy policy_;
  PageTable& table_;
  std::uint32_t frame_bytes_;
  std::uint32_t frames_per_page_;
  std::vector<Frame> frames_;  ///< by slot, those of a page together
  std::vector<Victim> victims_;
  std::uint32_t oldest_ = kNoFrame;
  std::uint32_t newest_ = kNoFrame;
  std::uint64_t num_frames_ = 0;
};

}  // namespace isthmus::pages

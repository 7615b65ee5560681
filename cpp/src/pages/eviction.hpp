// Which pages leave the GPU when its memory is full.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "pages/page_table.hpp"
#include "pages/prefetch_tree.hpp"

namespace isthmus::pages {

enum class EvictionKind : std::uint8_t {
  lru,        ///< the least recently used page (as in NVIDIA's driver, with pages of 2 MiB)
  tree,       ///< the 64 KiB block, and the largest subtree around it that becomes half empty
  block_64k,  ///< the least recently used 64 KiB block
  clock,      ///< pages in order of arrival, skipping those used since the last turn
  random,     ///< any page, each as likely as the others; equal runs draw the same
  lfu,        ///< the page with the fewest accesses since it came, of equal ones the oldest
  belady,     ///< the page whose next access in a recorded order is last (EvictionPolicy::order).
              ///< Source: Belady 1966
};

constexpr auto words_of(EvictionKind) {
  return std::array{"lru", "tree", "block_64k", "clock", "random", "lfu", "belady"};
}

/// What counts as a use of a page.
enum class Recency : std::uint8_t {
  migration,  ///< part of it migrated: a driver sees nothing else
  access,     ///< any access of the GPU
};
constexpr auto words_of(Recency) { return std::array{"migration", "access"}; }

/// The order in which a run accessed its pages, as numbers of accesses.
struct UseOrder {
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> positions;  ///< by page number
  std::vector<std::uint32_t> launches;  ///< the first access of each
};

struct EvictionPolicy {
  EvictionKind kind = EvictionKind::lru;
  std::uint64_t limit_bytes = 0;  ///< the GPU memory for pages
  /// Source: open-gpu-kernel-modules, uvm_pmm_gpu.c: only the driver's own work marks root chunks
  /// as used. clock always counts accesses.
  Recency recency = Recency::migration;
  /// tree, block_64k: what is evicted at once. The driver's big pages.
  std::uint32_t block_bytes = 64U << 10U;
  /// tree: a subtree is evicted if less than this share of it remains. Source:
  /// cpp/src/pages/prefetch_tree.hpp, largest_sparse_subtree.
  std::uint32_t tree_threshold_percent = 50;
  const UseOrder* order = nullptr;  ///< belady: what is to come; outlives the eviction
  UseOrder* record = nullptr;       ///< accesses are added to it; likewise
};

/// What becomes of pages with transfers in flight while room is made.
enum class InFlight : std::uint8_t {
  stays,  ///< they can't be evicted
  /// They are evicted as others are: their transfers have been in vain (PageTable::arrived is false).
  /// Only where a frame is a whole page.
  leaves,
};

/// A part of a page that left the GPU.
struct Victim {
  std::uint32_t slot = 0;
  Span part;                     ///< its memory is free again, and it has no translation
  std::uint32_t back_bytes = 0;  ///< migrated back over the link
};

/// Frames of the GPU's memory. A page (tree, block_64k: a block) occupies a whole frame as soon as
/// part of it is there or in flight, because translation has no smaller unit.
class Eviction {
public:
  /// table       outlives this
  /// own         chooses the victims, if it does that; likewise
  /// Throws      UsageError if nothing fits under the limit, or if the table's policy can't evict
  ///             parts of pages.
  Eviction(const EvictionPolicy& policy, PageTable& table, OwnRun* own = nullptr);

  /// A transfer to the GPU was planned, or a write made bytes valid without one (WriteMiss).
  void started(std::uint32_t slot, Span transfer);

  /// The GPU accesses resident bytes. Needed only if wants_accesses().
  void used(std::uint32_t slot, std::uint32_t offset_bytes);
  bool wants_accesses() const;
  /// A kernel begins, in the recorded order too: since the first-level caches hit otherwise there,
  /// runs have a few more or fewer accesses.
  void begin_launch();

  /// The page went back to the host, by PageTable::cpu_request.
  void left(std::uint32_t slot);

  /// Evicts frames until the GPU's memory is within the limit. Frames of `kept_slot` stay, and those
  /// of pages with transfers in flight unless `in_flight` says otherwise: this may not suffice
  /// (fits()).
  ///
  /// Returns     the evicted parts, in order; valid until the next call.
  std::span<const Victim> make_room(std::uint32_t kept_slot, InFlight in_flight = InFlight::stays);

  bool takes_whole_pages() const { return frames_per_page_ == 1; }

  bool fits() const { return framed_bytes() <= policy_.limit_bytes; }
  std::uint64_t framed_bytes() const { return num_frames_ * frame_bytes_; }

private:
  struct Frame {
    std::uint32_t older = kNoFrame;
    std::uint32_t newer = kNoFrame;
    bool present = false;
    bool referenced = false;  ///< since clock's hand passed it
    std::uint32_t uses = 0;   ///< accesses since it came
  };
  static constexpr std::uint32_t kNoFrame = ~std::uint32_t{0};

  std::uint32_t frame_of(std::uint32_t slot, std::uint32_t offset_bytes) const;
  void append(std::uint32_t frame);
  void remove(std::uint32_t frame);
  std::uint32_t next_victim(std::uint32_t kept_slot, InFlight in_flight);
  std::uint32_t least(std::uint32_t kept_slot, InFlight in_flight);
  std::uint64_t value_of(std::uint32_t frame);
  void evict_chosen(std::uint32_t kept_slot, InFlight in_flight);
  bool may_leave(std::uint32_t frame, std::uint32_t kept_slot, InFlight in_flight) const;
  void evict(std::uint32_t frame);
  UnitRun with_sparse_subtree(std::uint32_t frame) const;

  EvictionPolicy policy_;
  PageTable& table_;
  OwnRun* own_;
  std::uint32_t frame_bytes_;
  std::uint32_t frames_per_page_;
  std::vector<Frame> frames_;  ///< by slot, those of one page together
  std::vector<Victim> victims_;
  std::uint32_t oldest_ = kNoFrame;
  std::uint32_t newest_ = kNoFrame;
  std::uint64_t num_frames_ = 0;
  std::uint32_t num_launches_ = 0;
  std::uint32_t position_ = 0;   ///< of the next access
  std::uint64_t num_draws_ = 0;  ///< random
};

}  // namespace isthmus::pages

// The pieces of an upload that wait to be sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/link_copies.hpp"

namespace isthmus::transfer {

/// A piece whose bytes are all in its slot.
struct FullPiece {
  std::size_t piece = 0;  ///< its index
  std::uint32_t slot = 0;
  std::vector<LinkCopy> copies;
};

/// Pieces in the order in which they became full. Any thread adds; one at a time, the sender, takes.
/// It holds this as a lock. A thread that adds a piece must then try to become the sender, until it
/// fails or nothing is left.
///
/// The operations are sequentially consistent. So a thread that fails to become the sender has left
/// its piece to the one that is: that one finds the piece when it looks again after unlock().
class FullPieces {
public:
  /// num_pieces  that will be added, each once
  explicit FullPieces(std::size_t num_pieces)
      : num_pieces_(num_pieces), entries_(std::make_unique<Entry[]>(num_pieces)) {}

  void add(FullPiece full) noexcept {
    Entry& entry = entries_[num_added_.fetch_add(1, std::memory_order_relaxed)];
    entry.full = std::move(full);
    entry.added.store(true);
  }
  /// True if the next piece isn't full.
  bool empty() const noexcept {
    const std::size_t next = num_taken_.load();
    return next == num_pieces_ || !entries_[next].added.load();
  }
  /// Called by the sender. Nothing if it is empty().
  std::optional<FullPiece> take() noexcept {
    if (empty()) return std::nullopt;
    const std::size_t next = num_taken_.load();
    num_taken_.store(next + 1);
    return std::move(entries_[next].full);
  }

  /// Makes the calling thread the sender if there is none.
  bool try_lock() noexcept { return !has_sender_.exchange(true); }
  void unlock() noexcept { has_sender_.store(false); }

private:
  struct Entry {
    FullPiece full;
    std::atomic<bool> added{false};
  };

  const std::size_t num_pieces_;
  const std::unique_ptr<Entry[]> entries_;
  std::atomic<bool> has_sender_{false};
  std::atomic<std::size_t> num_added_{0};
  std::atomic<std::size_t> num_taken_{0};
};

}  // namespace isthmus::transfer

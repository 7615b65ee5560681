// What the threads of one save share: the bytes of many arrays, one after the other, and who writes
// which.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/context.hpp"
#include "transfer/saving/file_target.hpp"

namespace isthmus::transfer {

/// The device of memory that the CPU reads.
inline constexpr int kOnHost = -1;

/// The bytes of one array.
struct SavedRange {
  const std::byte* memory = nullptr;
  std::size_t size_bytes = 0;
  int device = kOnHost;  ///< the ordinal of its GPU
  std::string name;      ///< in messages: "tensor 'head'"
};

/// Some bytes of a range, as a part of a piece of the file.
struct SavedSegment {
  const SavedRange* range = nullptr;
  const std::byte* memory = nullptr;
  std::size_t size_bytes = 0;
  std::size_t place = 0;  ///< its offset in the piece
};

/// Ranges that follow each other in a file, without gaps.
class SavedBytes {
public:
  explicit SavedBytes(std::vector<SavedRange> ranges);

  const std::vector<SavedRange>& ranges() const noexcept { return ranges_; }
  std::size_t size_bytes() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
  /// What the bytes [begin, begin + size_bytes) of the file consist of, in their order.
  std::vector<SavedSegment> segments(std::size_t begin, std::size_t size_bytes) const;

private:
  std::vector<SavedRange> ranges_;
  std::vector<std::size_t> ends_;  // of each range, in the file
};

/// A part of the file, which one thread writes.
struct SavedPiece {
  std::size_t begin = 0;
  std::size_t size_bytes = 0;
};

/// Gives out the pieces, and keeps the first failure. May be used from any thread.
class SaveJob {
public:
  /// Retains the contexts of all devices that the bytes are on.
  SaveJob(const std::optional<Driver>& driver, const SavedBytes& the_bytes,
          const FileTarget& the_file, std::size_t piece_bytes);

  /// The next piece in the order of the file; nothing if none is left or the save has failed.
  std::optional<SavedPiece> take() noexcept;
  std::size_t num_pieces() const noexcept;

  const Context& context(int device) const { return contexts_.at(device); }

  /// Records the exception that is being handled; no more pieces are given out.
  void fail() noexcept;
  /// Records that a device may still be writing to the staging memory.
  void note_in_use() noexcept { in_use_.store(true, std::memory_order_release); }
  /// Throws the first failure, if there was one. Call when no thread works any more.
  void rethrow() const;

  const SavedBytes& bytes;
  const FileTarget& file;

private:
  std::size_t piece_bytes_;
  std::map<int, Context> contexts_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> in_use_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace isthmus::transfer

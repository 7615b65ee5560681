// What the threads of one save share.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>

#include "device/context.hpp"
#include "transfer/saving/file_target.hpp"
#include "transfer/saving/saved_bytes.hpp"

namespace isthmus::transfer {

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

// A piece of a file on its way to the disk.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "device/stream.hpp"
#include "transfer/saving/save_job.hpp"

namespace isthmus::transfer {

/// Memory that one piece at a time is collected in, and the streams of the copies to it. Used by one
/// thread.
class StagedPiece {
public:
  /// memory      [piece_bytes], aligned to FileTarget::kBlockBytes
  StagedPiece(SaveJob& job, std::byte* memory) noexcept : job_(job), memory_(memory) {}
  /// Waits for copies that are still running; records in the job if that isn't possible.
  ~StagedPiece();
  StagedPiece(const StagedPiece&) = delete;
  StagedPiece& operator=(const StagedPiece&) = delete;

  /// Begins to collect a piece: the device copies while the caller goes on.
  ///
  /// Throws      DriverError that names the array; UsageError if host memory can't be read.
  void begin(const SavedPiece& piece);
  /// Waits until the piece is there, and writes it.
  ///
  /// Throws      as begin(); std::system_error.
  void write();

private:
  void collect(const SavedSegment& segment);
  void enqueue(const SavedSegment& segment);
  void await_copies();
  bool is_readable_as_it_is() const noexcept;

  SaveJob& job_;
  std::byte* memory_;
  std::map<int, Stream> streams_;       // of each device
  std::vector<int> devices_under_way_;  // whose copies nobody has waited for
  SavedPiece piece_;
  std::vector<SavedSegment> segments_;
};

}  // namespace isthmus::transfer

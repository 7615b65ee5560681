// Saves the bytes of arrays on the host and on devices to a file, at the disk's speed.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "driver/driver.hpp"
#include "transfer/saving/file_target.hpp"
#include "transfer/saving/save_job.hpp"

namespace isthmus::transfer {

struct SaveSettings {
  /// A multiple of FileTarget::kBlockBytes. Each thread has two pieces of the staging memory: while
  /// one is written to the disk, the device fills the other.
  std::size_t piece_bytes = 0;
  Writing writing = Writing::through_cache;
};

/// Writes all bytes to a new file, from its beginning. The arrays' pending work must be complete.
/// Returns when everything is written; the caller makes it durable. If it fails, the file has some
/// of the bytes.
///
/// driver       of the devices; nothing if all arrays are on the host
/// descriptor   of an empty regular file, open for writing
/// staging      host memory, pinned if a device has arrays. One thread works for every two pieces
///              that fit in it: at least two. It begins at a multiple of FileTarget::kBlockBytes.
/// interrupted  asked now and then by the calling thread; true stops the work
/// Returns      true if the bytes bypassed the page cache.
/// Throws       std::system_error: the disk is full, or fails. DriverError, OutOfDeviceMemory: a
///              device's bytes can't be read; if memory_in_use(), the staging memory must be kept.
///              UsageError: bytes on the host can't be read. Interrupted.
bool save(const std::optional<Driver>& driver, int descriptor, const SavedBytes& bytes,
          std::span<std::byte> staging, const SaveSettings& settings,
          const std::function<bool()>& interrupted);

}  // namespace isthmus::transfer

// One copy: how the caller wants it made, and its two examined ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <isthmus/transfer.hpp>

#include "driver/driver.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/request/host_memory.hpp"
#include "transfer/request/memory_range.hpp"

namespace isthmus::transfer {

/// Of a moment that nobody has noted.
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

class FileSource;
class KnownRanges;

/// When the call may return.
enum class Return {
  complete,     ///< the bytes are in the target
  source_free,  ///< the source may be changed
  begun,        ///< at once
};

/// When an asynchronous copy may return.
constexpr Return return_for(SourceOrder source_order) noexcept {
  return source_order == SourceOrder::call ? Return::source_free : Return::begun;
}

/// How a caller wants a copy to be made.
struct Request {
  CUstream stream = nullptr;
  bool ordered = true;           ///< the copy waits for the stream's work
  std::optional<CopyPath> path;  ///< if named: no other is used
  Return when = Return::complete;
  MemoryKind source_kind = MemoryKind::unknown;  ///< what the caller says: see CopyOptions
  MemoryKind target_kind = MemoryKind::unknown;
};

/// Throws      UsageError if no path has that name.
CopyPath path_named(std::string_view name);

/// Throws      as path_named()
inline Request request_of(const CopyOptions& options, Return when) {
  Request request{reinterpret_cast<CUstream>(options.stream),
                  options.ordered,
                  std::nullopt,
                  when,
                  options.source_kind,
                  options.target_kind};
  if (!options.path.empty()) request.path = path_named(options.path);
  return request;
}

/// True for memory that the driver addresses as a device's.
constexpr bool is_on_device(MemoryKind kind) noexcept {
  return kind == MemoryKind::device || kind == MemoryKind::managed;
}

/// True if the caller says that an end is a device's.
constexpr bool names_device(const Request& request) noexcept {
  return is_on_device(request.target_kind) || is_on_device(request.source_kind);
}

/// Two ends of a copy, checked.
struct CopyEnds {
  void* target = nullptr;
  const void* source = nullptr;
  std::size_t size_bytes = 0;
  MemoryKind target_kind = MemoryKind::pageable;
  MemoryKind source_kind = MemoryKind::pageable;
  /// The pinned end crosses from one registered range into the next: the driver refuses to copy
  /// that in one call.
  bool spans_registrations = false;
  /// The host's memory is a file's, which may become shorter during the copy: see HostTouch.
  bool target_may_vanish = false;
  bool source_may_vanish = false;

  bool may_vanish() const noexcept { return target_may_vanish || source_may_vanish; }
  /// True if the driver copies all of it in stream order: no end is pageable.
  bool is_ordered_by_driver() const noexcept {
    return source_kind != MemoryKind::pageable && target_kind != MemoryKind::pageable;
  }
};

/// A part of a copy.
inline CopyEnds part_of(const CopyEnds& ends, std::size_t offset_bytes,
                        std::size_t size_bytes) noexcept {
  CopyEnds part = ends;
  part.target = static_cast<std::byte*>(ends.target) + offset_bytes;
  part.source = static_cast<const std::byte*>(ends.source) + offset_bytes;
  part.size_bytes = size_bytes;
  return part;
}

/// The properties of a copy between host and device that its cost depends on.
struct Crossing {
  Direction direction = Direction::host_to_device;
  MemoryKind host_kind = MemoryKind::pageable;
  std::size_t size_bytes = 0;
  bool after_pause = false;  ///< CopyPauses: helper threads sleep, and caches are cold
};

/// The ends of a copy between the host and a device's own memory.
inline CopyEnds ends_of(const Crossing& crossing, void* target, const void* source) noexcept {
  const bool uploads = crossing.direction == Direction::host_to_device;
  return {target, source, crossing.size_bytes, uploads ? MemoryKind::device : crossing.host_kind,
          uploads ? crossing.host_kind : MemoryKind::device};
}

/// A copy whose two ends are known and checked.
struct Task {
  CopyEnds ends;
  MemoryRange target;
  MemoryRange source;
  const FileSource* file = nullptr;  ///< instead of a source in memory
  int device = -1;                   ///< -1: both ends are the host's
  bool crosses = false;              ///< between host memory and device memory that isn't managed
  Crossing crossing;
  std::int64_t start_ns = kNoTime;  ///< of the call, by CopyPauses

  bool uploads() const noexcept { return crossing.direction == Direction::host_to_device; }
  const MemoryRange& device_range() const noexcept { return uploads() ? target : source; }
  const MemoryRange& host_range() const noexcept { return uploads() ? source : target; }
  std::uintptr_t device_address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(uploads() ? ends.target : ends.source);
  }
};

/// Finds out what the two ends of a copy are, and checks them.
///
/// has_context true: a context is current: any, because the answers are the same in all. False: no
///             memory is known to CUDA
/// known       what the same call has asked before; null: nothing
/// Throws      UsageError: memory that is null, overlapping, freed, shorter than `size_bytes`, or
///             host memory that can't be touched. DriverError.
Task examine(const Driver& driver, const HostMemory& host_memory, void* target, const void* source,
             std::size_t size_bytes, const Request& request, bool has_context,
             KnownRanges* known = nullptr);

/// The same for a copy from a file to a device. A context must be current.
///
/// Throws      also UsageError if the target isn't a GPU's own memory.
Task examine(const Driver& driver, void* target, const FileSource& source, std::size_t size_bytes);

/// Refuses host memory that the CPU can't touch.
[[noreturn]] void refuse_untouchable(const char* role, host::Access access);

}  // namespace isthmus::transfer

#include "transfer/carriers/driver_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "host/memory/pages.hpp"
#include "transfer/carriers/vanishing_memory.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/memory_range.hpp"
#include "transfer/request/stream_order.hpp"

namespace isthmus::transfer {
namespace {

CUdeviceptr device_address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// True if the driver refused a call before it began anything.
bool began_nothing(int code) {
  switch (code) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
      return true;
    default:
      return false;
  }
}

/// Called while the exception of a copy is handled.
bool began_nothing() noexcept {
  try {
    throw;
  } catch (const DriverError& error) {
    return began_nothing(error.code());
  } catch (...) {
    return false;
  }
}

void enqueue_whole(const Driver& driver, const CopyEnds& ends, CUstream stream) {
  const bool to_device = is_on_device(ends.target_kind);
  const bool from_device = is_on_device(ends.source_kind);
  if (to_device && from_device) {
    driver.call(symbol::memcpy_dtod_async)(device_address(ends.target), device_address(ends.source),
                                           ends.size_bytes, stream);
  } else if (to_device) {
    driver.call(symbol::memcpy_htod_async)(device_address(ends.target), ends.source,
                                           ends.size_bytes, stream);
  } else {
    driver.call(symbol::memcpy_dtoh_async)(ends.target, device_address(ends.source),
                                           ends.size_bytes, stream);
  }
}

std::uintptr_t host_address(const CopyEnds& ends) {
  return reinterpret_cast<std::uintptr_t>(is_on_device(ends.target_kind) ? ends.source
                                                                         : ends.target);
}

std::size_t bytes_of_first_registration(const Driver& driver, const CopyEnds& ends) {
  const std::uintptr_t address = host_address(ends);
  const MemoryRange range = range_at(driver, address);
  if (range.kind != MemoryKind::pinned || range.size_bytes == 0) return ends.size_bytes;
  return std::min<std::size_t>(ends.size_bytes, range.base + range.size_bytes - address);
}

/// The same, also of pageable memory: until a page is pinned. Asks about each page.
std::size_t bytes_until_change(const Driver& driver, const CopyEnds& ends) {
  const std::size_t page_bytes = host::kSmallPageBytes;
  const std::uintptr_t address = host_address(ends);
  if (range_at(driver, address).kind == MemoryKind::pinned)
    return bytes_of_first_registration(driver, ends);
  std::size_t bytes = page_bytes - address % page_bytes;
  while (bytes < ends.size_bytes && range_at(driver, address + bytes).kind != MemoryKind::pinned)
    bytes += page_bytes;
  return std::min(ends.size_bytes, bytes);
}

std::vector<CopyEnds> cut(const Driver& driver, const CopyEnds& ends,
                          std::size_t (*bytes_of_first)(const Driver&, const CopyEnds&)) {
  std::vector<CopyEnds> pieces;
  for (std::size_t done = 0; done < ends.size_bytes; done += pieces.back().size_bytes) {
    pieces.push_back(part_of(ends, done, ends.size_bytes - done));
    pieces.back().size_bytes = bytes_of_first(driver, pieces.back());
  }
  return pieces;
}

/// Enqueues a copy in pieces if `copy` is refused because the host's memory has pinned pages among
/// others, such as those that somebody has pinned around an array next to it. What begins pinned is
/// cut before; to look at the rest would cost every copy.
///
/// Returns     whether pieces were enqueued
template <typename Copy>
bool enqueued_in_pieces(const Driver& driver, const CopyEnds& ends, CUstream stream, Copy&& copy) {
  try {
    copy();
    return false;
  } catch (const DriverError& error) {
    const bool mixed = ends.spans_registrations || ends.target_kind == MemoryKind::pageable ||
                       ends.source_kind == MemoryKind::pageable;
    if (error.code() != CUDA_ERROR_INVALID_VALUE || error.memory_in_use() || !mixed) throw;
    const std::vector<CopyEnds> pieces = cut(driver, ends, &bytes_until_change);
    if (pieces.size() == 1) throw;
    enqueue_pieces(driver, pieces, stream);
    return true;
  }
}

}  // namespace

void enqueue_pieces(const Driver& driver, const std::vector<CopyEnds>& pieces, CUstream stream) {
  std::size_t num_enqueued = 0;
  try {
    for (; num_enqueued < pieces.size(); ++num_enqueued)
      enqueue_whole(driver, pieces[num_enqueued], stream);
  } catch (...) {
    if (num_enqueued == 0) throw;
    throw_once_idle(driver, stream);
  }
}

void enqueue_driver_copy(const Driver& driver, const CopyEnds& ends, CUstream stream) {
  enqueued_in_pieces(driver, ends, stream, [&] {
    if (!ends.spans_registrations) return enqueue_whole(driver, ends, stream);
    enqueue_pieces(driver, cut(driver, ends, &bytes_of_first_registration), stream);
  });
}

bool is_complete_on_return(const CopyEnds& ends, CUstream stream) {
  const bool download = is_on_device(ends.source_kind) && !is_on_device(ends.target_kind);
  const bool upload = is_on_device(ends.target_kind) && ends.source_kind == MemoryKind::pinned;
  return is_legacy(stream) && !ends.spans_registrations && (download || upload);
}

void copy_whole(const Driver& driver, const CopyEnds& ends) try {
  // Driver 580 doesn't need this; nothing is documented about others.
  const ScopedRelaxedCapture relaxed(driver);
  if (is_on_device(ends.target_kind)) {
    driver.call(symbol::memcpy_htod)(device_address(ends.target), ends.source, ends.size_bytes);
  } else {
    driver.call(symbol::memcpy_dtoh)(ends.target, device_address(ends.source), ends.size_bytes);
  }
} catch (...) {
  if (began_nothing()) throw;
  throw_once_idle(driver, nullptr);
}

void copy_by_driver(const Driver& driver, const CopyEnds& ends, CUstream stream) {
  if (!is_complete_on_return(ends, stream))
    enqueue_driver_copy(driver, ends, stream);
  else if (!enqueued_in_pieces(driver, ends, stream, [&] { copy_whole(driver, ends); }))
    return;
  wait_for_copies(driver, stream);
}

void wait_for_copies(const Driver& driver, CUstream stream) try {
  const ScopedRelaxedCapture relaxed(driver);
  driver.call(symbol::stream_synchronize)(stream);
} catch (...) {
  throw_once_idle(driver, stream);
}

void copy_on_host(const Driver& driver, const CopyEnds& ends, CUstream stream) {
  CUcontext current = nullptr;
  if (driver.has_devices() || stream != nullptr) driver.call(symbol::ctx_get_current)(&current);
  // Without a context there is no default stream, and so no work in it.
  if (current != nullptr || stream != nullptr) {
    if (is_captured(driver, stream))
      throw UsageError(
          "a copy within the host's memory can't be made in a stream that is being captured: it "
          "wouldn't be in the graph");
    wait_for_work(driver, stream);
  }
  copy_unless_vanishing(
      ends, [](const CopyEnds& part) { std::memcpy(part.target, part.source, part.size_bytes); });
}

}  // namespace isthmus::transfer

// A file's bytes to a device: the ring's threads read them, each into a slot of its own.
#include <algorithm>
#include <memory>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/lasting.hpp"
#include "transfer/engine.hpp"
#include "transfer/failed_copy.hpp"
#include "transfer/file_source.hpp"
#include "transfer/stream_order.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {
namespace {

// Long enough for a disk: benchmarks/transfer.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20U;
constexpr std::size_t kSlotAlignment = 4096;  // as SlotFiller wants

MemoryRange device_range(const Driver& driver, const void* target, std::size_t size_bytes) {
  const window::AnyContext context(driver);
  const auto address = reinterpret_cast<std::uintptr_t>(target);
  const MemoryRange range = range_at(driver, address);
  if (range.kind != MemoryKind::device)
    throw UsageError("a file is copied to a GPU's own memory; the target is " +
                     std::string(name_of(range.kind)) + " memory");
  require_inside(driver, range, address, size_bytes, "target");
  return range;
}

/// By this thread alone, through ordinary memory.
void copy_by_pieces(const Driver& driver, void* target, const FileSource& source,
                    std::size_t size_bytes, CUstream stream) {
  auto piece = std::make_unique_for_overwrite<std::byte[]>(std::min(size_bytes, kPieceBytes) +
                                                           kSlotSlackBytes + kSlotAlignment);
  const auto start = reinterpret_cast<std::uintptr_t>(piece.get());
  std::byte* const slot = piece.get() + (kSlotAlignment - start % kSlotAlignment) % kSlotAlignment;
  for (std::size_t done = 0; done < size_bytes; done += kPieceBytes) {
    const std::size_t count = std::min(size_bytes - done, kPieceBytes);
    const std::size_t first = source.fill(slot, done, count);
    const CopyEnds ends{static_cast<std::byte*>(target) + done, slot + first, count,
                        MemoryKind::device, MemoryKind::pageable};
    try {
      copy_by_driver(driver, ends, stream);
    } catch (...) {
      if (leaves_memory_in_use(std::current_exception())) note_lasting(piece.release());
      throw;
    }
  }
}

}  // namespace

void Engine::copy_file(void* target, int descriptor, std::uint64_t offset_bytes,
                       std::size_t size_bytes, const CopyOptions& options) {
  require_own_process();
  const FileSource source(descriptor, offset_bytes, size_bytes);
  if (size_bytes == 0) return;
  if (target == nullptr) throw UsageError("the target of the copy is a null pointer");
  DevicePaths& ways = paths(device_range(driver, target, size_bytes).device);
  const ContextOfDevice context(ways.context());
  const CUstream stream = stream_of(options);
  if (is_captured(driver, stream))
    throw UsageError("a file can't be copied in a stream that is being captured");
  const bool copied = ways.try_ring([&] {
    ways.ring().upload(reinterpret_cast<CUdeviceptr>(target), source, size_bytes, stream);
  });
  if (!copied) copy_by_pieces(driver, target, source, size_bytes, stream);
}

}  // namespace isthmus::transfer

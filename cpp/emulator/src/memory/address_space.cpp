#include "memory/address_space.hpp"

#include <algorithm>
#include <iterator>

#include <sys/mman.h>

#include "api/refusal.hpp"

namespace isthmus::emulator {
namespace {

/// The size of one reservation: addresses cost nothing until they are mapped.
constexpr std::size_t kReserveBytes = std::size_t{64} * 1024 * 1024 * 1024;

constexpr int kReserveFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr int kReplaceFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

void* reserve_pages(std::size_t size_bytes) {
  return mmap(nullptr, size_bytes, PROT_NONE, kReserveFlags, -1, 0);
}

}  // namespace

void FreeRanges::add(std::uintptr_t base, std::size_t size_bytes) {
  auto range = free_.emplace(base, size_bytes).first;
  const auto next = std::next(range);
  if (next != free_.end() && next->first == base + size_bytes) {
    range->second += next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return;
  const auto before = std::prev(range);
  if (before->first + before->second != base) return;
  before->second += range->second;
  free_.erase(range);
}

std::optional<std::uintptr_t> FreeRanges::take(std::size_t size_bytes,
                                               std::size_t alignment_bytes) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const std::uintptr_t base = (range->first + alignment_bytes - 1) & ~(alignment_bytes - 1);
    const std::size_t skipped_bytes = base - range->first;
    if (skipped_bytes > range->second || size_bytes > range->second - skipped_bytes) continue;
    cut(range, base, size_bytes);
    return base;
  }
  return std::nullopt;
}

bool FreeRanges::take_at(std::uintptr_t base, std::size_t size_bytes) {
  auto range = free_.upper_bound(base);
  if (range == free_.begin()) return false;
  --range;
  const std::size_t skipped_bytes = base - range->first;
  if (skipped_bytes > range->second || size_bytes > range->second - skipped_bytes) return false;
  cut(range, base, size_bytes);
  return true;
}

void FreeRanges::cut(Free::iterator range, std::uintptr_t base, std::size_t size_bytes) {
  const std::uintptr_t end = range->first + range->second;
  if (end > base + size_bytes) free_.emplace(base + size_bytes, end - base - size_bytes);
  if (base > range->first) {
    range->second = base - range->first;
  } else {
    free_.erase(range);
  }
}

std::uintptr_t AddressSpace::reserve(std::size_t size_bytes, std::size_t alignment_bytes,
                                     std::uintptr_t wanted) {
  const std::scoped_lock lock(mutex_);
  if (wanted != 0 && wanted % alignment_bytes == 0 && free_.take_at(wanted, size_bytes)) {
    return wanted;
  }
  if (const auto base = free_.take(size_bytes, alignment_bytes)) return *base;
  std::size_t more_bytes = size_bytes + alignment_bytes;
  require(more_bytes > size_bytes, CUDA_ERROR_OUT_OF_MEMORY);
  void* more = MAP_FAILED;
  if (more_bytes < kReserveBytes) more = reserve_pages(kReserveBytes);
  if (more != MAP_FAILED) {
    more_bytes = kReserveBytes;
  } else {  // the process's address space may be limited
    more = reserve_pages(more_bytes);
  }
  require(more != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  free_.add(reinterpret_cast<std::uintptr_t>(more), more_bytes);
  return free_.take(size_bytes, alignment_bytes).value_or(0);
}

void AddressSpace::release(std::uintptr_t base, std::size_t size_bytes) noexcept {
  if (!clear_mapping(base, size_bytes)) return;  // then the addresses are never reused
  const std::scoped_lock lock(mutex_);
  free_.add(base, size_bytes);
}

AddressSpace& address_space() {
  static auto& space = *new AddressSpace;
  return space;
}

bool clear_mapping(std::uintptr_t base, std::size_t size_bytes) noexcept {
  void* const where = reinterpret_cast<void*>(base);
  return mmap(where, size_bytes, PROT_NONE, kReplaceFlags, -1, 0) != MAP_FAILED;
}

}  // namespace isthmus::emulator

#include "memory/memory_object.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "api/cuda_api.hpp"
#include "machine/machine.hpp"

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

namespace {

constexpr int kFileFlags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
constexpr int kNoFileFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

/// A memory file that no other holder can truncate; -1 if it can't be created.
int make_memory_file(std::size_t size_bytes) {
  const int file = memfd_create("isthmus-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(size_bytes)) != 0) {
    close(file);
    return -1;
  }
  fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  return file;
}

void charge(Device& device, std::size_t size_bytes) {
  const std::size_t capacity_bytes = machine().profile().memory_bytes;
  std::size_t used_bytes = device.used_bytes;
  do {
    const bool fits = used_bytes <= capacity_bytes && size_bytes <= capacity_bytes - used_bytes;
    require(fits && size_bytes != 0, CUDA_ERROR_OUT_OF_MEMORY);
  } while (!device.used_bytes.compare_exchange_weak(used_bytes, used_bytes + size_bytes));
}

}  // namespace

MemoryObject::MemoryObject(Device& device, std::size_t size_bytes)
    : device_(device), size_bytes_(size_bytes) {
  charge(device, size_bytes);
  file_ = make_memory_file(size_bytes);
}

MemoryObject::~MemoryObject() {
  addresses_.reset();
  if (file_ >= 0) close(file_);
  device_.used_bytes -= size_bytes_;
}

void MemoryObject::reserve_and_map(std::size_t alignment_bytes) {
  addresses_.emplace(size_bytes_, alignment_bytes);
  map_at(base(), size_bytes_);
  mprotect(reinterpret_cast<void*>(base()), size_bytes_, PROT_READ | PROT_WRITE);
}

void MemoryObject::map_at(std::uintptr_t base, std::size_t size_bytes) const {
  auto* where = reinterpret_cast<void*>(base);
  const void* memory =
      mmap(where, size_bytes, PROT_NONE, file_ >= 0 ? kFileFlags : kNoFileFlags, file_, 0);
  require(memory != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  madvise(where, size_bytes, MADV_HUGEPAGE);  // fewer faults if the system allows it
  madvise(where, size_bytes, MADV_DONTFORK);  // a GPU's memory isn't in a child's
}

int MemoryObject::open_file(std::size_t offset_bytes) const {
  require(file_ >= 0, CUDA_ERROR_NOT_SUPPORTED);
  // Opened again instead of duplicated: duplicates share one position.
  const std::string path = "/proc/self/fd/" + std::to_string(file_);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(file >= 0, CUDA_ERROR_OPERATING_SYSTEM);
  lseek(file, static_cast<off_t>(offset_bytes), SEEK_SET);
  return file;
}

namespace {

/// As seen in handles of driver 580.159.04: 0x5c00, then a counter.
constexpr std::uint32_t kFirstNumber = 0x5c000000;
constexpr std::uint32_t kNumNumbers = 0x10000;

}  // namespace

MemoryObjectPtr MemoryObjects::make(Device& device, std::size_t size_bytes) {
  const std::uint32_t number = next_number();
  auto object = std::make_shared<MemoryObject>(device, size_bytes);
  object->number = number;
  objects_[number] = object;
  return object;
}

MemoryObjectPtr MemoryObjects::find(std::uint32_t number) const {
  const auto found = objects_.find(number);
  return found != objects_.end() ? found->second.lock() : nullptr;
}

std::size_t MemoryObjects::created_bytes() const {
  std::size_t total = 0;
  for (const auto& [number, object] : objects_) {
    const MemoryObjectPtr alive = object.lock();
    if (alive != nullptr && alive->properties) total += alive->size_bytes();
  }
  return total;
}

std::uint32_t MemoryObjects::next_number() {
  for (std::uint32_t tries = 0; tries < kNumNumbers; ++tries) {
    last_number_ = (last_number_ + 1) % kNumNumbers;
    if (find(kFirstNumber + last_number_) == nullptr) return kFirstNumber + last_number_;
  }
  throw Refusal{CUDA_ERROR_OUT_OF_MEMORY};
}

const Range* AddressMap::covering(std::uintptr_t address, std::size_t size_bytes) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  const std::size_t offset = address - range.base;
  const std::size_t wanted = std::max<std::size_t>(size_bytes, 1);
  const bool covered = offset < range.size_bytes && wanted <= range.size_bytes - offset;
  return covered ? &range : nullptr;
}

const Range* AddressMap::first_in(std::uintptr_t address, std::size_t size_bytes) const {
  if (const Range* range = covering(address, 1)) return range;
  const auto next = ranges_.upper_bound(address);
  const bool overlaps = next != ranges_.end() && next->first - address < size_bytes;
  return overlaps ? &next->second : nullptr;
}

std::optional<Range> AddressMap::remove(std::uintptr_t base, RangeKind kind) {
  const auto found = ranges_.find(base);
  if (found == ranges_.end() || found->second.kind != kind) return std::nullopt;
  Range range = std::move(found->second);
  ranges_.erase(found);
  return range;
}

std::vector<Range> AddressMap::remove_all_of(const Context& context) {
  std::vector<Range> removed;
  std::erase_if(ranges_, [&](const auto& row) {
    const bool mine = row.second.context == &context;
    if (mine) removed.push_back(row.second);
    return mine;
  });
  return removed;
}

std::size_t AddressMap::total_bytes(RangeKind kind) const {
  std::size_t total = 0;
  for (const auto& [base, range] : ranges_) total += range.kind == kind ? range.size_bytes : 0;
  return total;
}

std::size_t AddressMap::count(RangeKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count(ranges_, kind, [](const auto& row) { return row.second.kind; }));
}

}  // namespace isthmus::emulator

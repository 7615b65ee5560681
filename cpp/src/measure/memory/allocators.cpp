#include "measure/memory/allocators.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/memory/pages.hpp"
#include "measure/memory/allocator_parts.hpp"

namespace isthmus::measure {
namespace {

using Word = std::uint32_t;
/// In the order of AllocationKind.
constexpr const char* kNames[] = {"malloc",
                                  "a fresh mapping",
                                  "pinned memory",
                                  "write-combined memory",
                                  "registered memory",
                                  "registered memory of malloc",
                                  "pinned memory in huge pages",
                                  "pinned memory of a pool",
                                  "device memory",
                                  "pitched memory",
                                  "pitched memory in 3-D",
                                  "arrays",
                                  "3-D arrays",
                                  "managed memory",
                                  "stream-ordered memory",
                                  "stream-ordered memory of a keeping pool",
                                  "virtual memory management"};
/// Devices pad rows to this: shorter rows would mostly measure the padding.
constexpr std::size_t kRowBytes = 512;

/// The largest power of two whose square (or cube) is at most `size_bytes`.
std::size_t root_of(std::size_t size_bytes, unsigned power) noexcept {
  std::size_t side = 1;
  const auto grown = [&] {
    std::size_t product = 1;
    for (unsigned i = 0; i < power; ++i) product *= 2 * side;
    return product;
  };
  while (grown() <= size_bytes) side *= 2;
  return side;
}

void check(const AllocationShape& shape) {
  if (shape.size_bytes < sizeof(Word) || shape.num_slots == 0) {
    throw UsageError("allocations need 4 bytes or more, and one or more of them: got " +
                     std::to_string(shape.num_slots) + " of " + std::to_string(shape.size_bytes));
  }
  if (shape.touch == Touch::touched && !cpu_reaches(shape.kind)) {
    throw UsageError(std::string("the CPU can't touch ") + name_of(shape.kind));
  }
}

/// Empty for memory that the driver doesn't know.
std::optional<Identity> find(const Driver& driver, CUdeviceptr address) noexcept {
  if (!driver.has(symbol::pointer_get_attribute)) return std::nullopt;
  unsigned long long number = 0;
  const CUresult result =
      driver.raw(symbol::pointer_get_attribute)(&number, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
  if (result != CUDA_SUCCESS || number == 0) return std::nullopt;
  return Identity{address, number};
}

bool find_again(const Driver& driver, const Identity& identity) noexcept {
  const auto found = find(driver, identity.address);
  return found && found->number == identity.number;
}

}  // namespace

bool Allocator::make_ready(std::size_t slot) {
  (void)slot;
  return false;
}

const void* Allocator::host(std::size_t slot) const {
  (void)slot;
  return nullptr;
}

Extent near_square(std::size_t size_bytes) noexcept {
  // Rows of whole words.
  const std::size_t min_bytes =
      std::max(std::min(kRowBytes, size_bytes) / sizeof(Word), 1UL) * sizeof(Word);
  const std::size_t width_bytes = std::max(root_of(size_bytes, 2), min_bytes);
  return {width_bytes, (size_bytes + width_bytes - 1) / width_bytes, 1};
}

Extent near_cube(std::size_t size_bytes) noexcept {
  const std::size_t max_slices = std::max(size_bytes / kRowBytes, std::size_t{1});
  const std::size_t num_slices = std::min(root_of(size_bytes / sizeof(Word), 3), max_slices);
  Extent slice = near_square((size_bytes + num_slices - 1) / num_slices);
  slice.num_slices = num_slices;
  return slice;
}

std::optional<Identity> Allocator::identity(std::size_t slot) const {
  (void)slot;
  return std::nullopt;
}

bool Allocator::known(const Identity& identity) const {
  (void)identity;
  return false;
}

void HostAllocator::keep(std::size_t slot, void* memory) noexcept {
  if (memory != nullptr && shape_.touch == Touch::touched) touch(memory);
  memory_[slot] = memory;
}

void* HostAllocator::take(std::size_t slot) noexcept {
  return std::exchange(memory_[slot], nullptr);
}

void HostAllocator::touch(void* memory) const noexcept {
  auto* bytes = static_cast<volatile std::byte*>(memory);
  const std::size_t step_bytes = host::page_bytes();
  for (std::size_t offset = 0; offset < shape_.size_bytes; offset += step_bytes) {
    bytes[offset] = std::byte{1};
  }
}

void HostAllocator::write(std::size_t slot, Word word) {
  auto* bytes = static_cast<std::byte*>(memory_[slot]);
  std::memcpy(bytes, &word, sizeof word);
  std::memcpy(bytes + shape_.size_bytes - sizeof word, &word, sizeof word);
}

bool HostAllocator::holds(std::size_t slot, Word word) {
  const auto* bytes = static_cast<const std::byte*>(memory_[slot]);
  return std::memcmp(bytes, &word, sizeof word) == 0 &&
         std::memcmp(bytes + shape_.size_bytes - sizeof word, &word, sizeof word) == 0;
}

std::optional<Identity> HostAllocator::identity(std::size_t slot) const {
  return find(context_.driver(), reinterpret_cast<CUdeviceptr>(memory_[slot]));
}

bool HostAllocator::known(const Identity& identity) const {
  return find_again(context_.driver(), identity);
}

CUdeviceptr DeviceAllocator::take(std::size_t slot) noexcept {
  return std::exchange(addresses_[slot], CUdeviceptr{0});
}

void DeviceAllocator::write(std::size_t slot, Word word) {
  const auto copy = driver().call(symbol::memcpy_htod_async);
  copy(addresses_[slot], static_cast<const void*>(&word), sizeof word, stream());
  copy(addresses_[slot] + shape_.size_bytes - sizeof word, static_cast<const void*>(&word),
       sizeof word, stream());
  driver().call(symbol::stream_synchronize)(stream());
}

bool DeviceAllocator::holds(std::size_t slot, Word word) {
  const auto copy = driver().call(symbol::memcpy_dtoh);
  Word ends[2] = {~word, ~word};
  copy(static_cast<void*>(ends), addresses_[slot], sizeof word);
  copy(static_cast<void*>(ends + 1), addresses_[slot] + shape_.size_bytes - sizeof word,
       sizeof word);
  return ends[0] == word && ends[1] == word;
}

std::optional<Identity> DeviceAllocator::identity(std::size_t slot) const {
  return find(context_.driver(), addresses_[slot]);
}

bool DeviceAllocator::known(const Identity& identity) const {
  return find_again(context_.driver(), identity);
}

bool cpu_reaches(AllocationKind kind) noexcept {
  return kind <= AllocationKind::pooled || kind == AllocationKind::managed;
}

const char* name_of(AllocationKind kind) noexcept { return kNames[static_cast<std::size_t>(kind)]; }

std::unique_ptr<Allocator> make_allocator(const Context& context, const AllocationShape& shape) {
  check(shape);
  switch (shape.kind) {
    case AllocationKind::device:
    case AllocationKind::pitched:
    case AllocationKind::pitched_3d:
      return make_device_allocator(context, shape);
    case AllocationKind::array:
    case AllocationKind::array_3d:
      return make_array_allocator(context, shape);
    case AllocationKind::stream_ordered:
    case AllocationKind::stream_ordered_kept:
      return make_pool_allocator(context, shape);
    case AllocationKind::virtual_memory:
      return make_virtual_allocator(context, shape);
    default:
      return make_host_allocator(context, shape);
  }
}

}  // namespace isthmus::measure

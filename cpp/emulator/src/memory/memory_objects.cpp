#include "memory/memory_objects.hpp"

#include "api/refusal.hpp"

namespace isthmus::emulator {
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

}  // namespace isthmus::emulator

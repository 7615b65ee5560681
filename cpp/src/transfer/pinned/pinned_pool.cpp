#include <isthmus/pinned.hpp>

#include "transfer/pinned/pinned_registry.hpp"

namespace isthmus {

PinnedPool::PinnedPool(const Driver& driver, int device, const PinnedPoolOptions& options)
    : registry_(std::make_shared<transfer::PinnedRegistry>(driver, device, options)) {}

void* PinnedPool::allocate(std::size_t size_bytes, std::uintptr_t stream,
                           std::size_t alignment_bytes) {
  return registry_->allocate(size_bytes, stream, alignment_bytes);
}

void PinnedPool::free(void* memory, std::uintptr_t stream) { registry_->free(memory, stream); }
void PinnedPool::trim(std::size_t kept_bytes) { registry_->trim(kept_bytes); }
PinnedPoolStats PinnedPool::stats() const { return registry_->stats(); }
bool PinnedPool::contains(const void* memory, std::size_t size_bytes) const {
  return registry_->contains(memory, size_bytes);
}
int PinnedPool::device() const noexcept { return registry_->device(); }

}  // namespace isthmus

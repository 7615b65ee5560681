// Memory that the CPU can access: the system's own, pinned in several ways, and managed.
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>

#include <isthmus/errors.hpp>
#include <isthmus/pinned.hpp>

#include "host/memory/huge_mapping.hpp"
#include "host/memory/pages.hpp"
#include "measure/memory/allocator_parts.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace isthmus::measure {
namespace {

constexpr unsigned int kRegistered = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;

class Heap final : public HostAllocator {
public:
  using HostAllocator::HostAllocator;

  void allocate(std::size_t slot) override {
    void* memory = std::malloc(shape().size_bytes);
    if (memory == nullptr) throw std::bad_alloc();
    keep(slot, memory);
  }
  void free(std::size_t slot) override { std::free(take(slot)); }
};

class Mapping final : public HostAllocator {
public:
  using HostAllocator::HostAllocator;

  void allocate(std::size_t slot) override {
    void* memory = mmap(nullptr, shape().size_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap of host memory");
    }
    keep(slot, memory);
  }
  void free(std::size_t slot) override { munmap(take(slot), shape().size_bytes); }
};

class Pinned final : public HostAllocator {
public:
  Pinned(const Context& context, const AllocationShape& shape, unsigned int flags)
      : HostAllocator(context, shape),
        flags_(flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) {}

  void allocate(std::size_t slot) override {
    void* memory = nullptr;
    context().driver().call(symbol::mem_host_alloc)(&memory, shape().size_bytes, flags_);
    keep(slot, memory);
  }
  void free(std::size_t slot) override {
    context().driver().call(symbol::mem_free_host)(take(slot));
  }

private:
  unsigned int flags_;
};

/// If untouched, the registration allocates the pages: they are dropped before each call.
class Registered final : public HostAllocator {
public:
  Registered(const Context& context, const AllocationShape& shape) : HostAllocator(context, shape) {
    for (std::size_t slot = 0; slot < shape.num_slots; ++slot) {
      pages_.emplace_back(shape.size_bytes);
      if (shape.touch == Touch::touched) touch(pages_.back().data());
    }
  }

  bool make_ready(std::size_t slot) override {
    if (shape().touch == Touch::touched) return false;
    const host::Pages whole(pages_[slot].data(), shape().size_bytes);
    madvise(whole.data(), whole.size_bytes(), MADV_DONTNEED);
    return true;
  }
  void allocate(std::size_t slot) override {
    context().driver().call(symbol::mem_host_register)(static_cast<void*>(pages_[slot].data()),
                                                       shape().size_bytes, kRegistered);
    set(slot, pages_[slot].data());
  }
  void free(std::size_t slot) override {
    context().driver().call(symbol::mem_host_unregister)(take(slot));
  }

private:
  std::vector<host::PageableBuffer> pages_;
};

/// What malloc gives begins and ends within a page, and its pages needn't follow each other in the
/// machine's memory.
class RegisteredHeap final : public HostAllocator {
public:
  RegisteredHeap(const Context& context, const AllocationShape& shape)
      : HostAllocator(context, shape) {
    for (std::size_t slot = 0; slot < shape.num_slots; ++slot) {
      blocks_.emplace_back(std::malloc(shape.size_bytes), std::free);
      if (blocks_.back() == nullptr) throw std::bad_alloc();
      touch(blocks_.back().get());
    }
  }

  void allocate(std::size_t slot) override {
    context().driver().call(symbol::mem_host_register)(blocks_[slot].get(), shape().size_bytes,
                                                       kRegistered);
    set(slot, blocks_[slot].get());
  }
  void free(std::size_t slot) override {
    context().driver().call(symbol::mem_host_unregister)(take(slot));
  }

private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
};

class HugePinned final : public HostAllocator {
public:
  HugePinned(const Context& context, const AllocationShape& shape)
      : HostAllocator(context, shape), regions_(shape.num_slots) {}

  void allocate(std::size_t slot) override {
    const transfer::PinnedRegion& region = regions_[slot].emplace(context(), shape().size_bytes);
    keep(slot, region.data());
  }
  void free(std::size_t slot) override {
    take(slot);
    regions_[slot].reset();
  }

private:
  std::vector<std::optional<transfer::PinnedRegion>> regions_;
};

class Pooled final : public HostAllocator {
public:
  Pooled(const Context& context, const AllocationShape& shape)
      : HostAllocator(context, shape), pool_(context.driver(), context.device().ordinal) {
    std::vector<void*> blocks;
    blocks.reserve(shape.num_slots);
    for (std::size_t slot = 0; slot < shape.num_slots; ++slot)
      blocks.push_back(pool_.allocate(shape.size_bytes));
    for (void* const block : blocks) pool_.free(block);
  }

  void allocate(std::size_t slot) override { keep(slot, pool_.allocate(shape().size_bytes)); }
  void free(std::size_t slot) override { pool_.free(take(slot)); }
  /// The driver knows a pool's regions, not its blocks.
  std::optional<Identity> identity(std::size_t /*slot*/) const override { return std::nullopt; }

private:
  PinnedPool pool_;
};

class Managed final : public HostAllocator {
public:
  using HostAllocator::HostAllocator;

  void allocate(std::size_t slot) override {
    CUdeviceptr address = 0;
    context().driver().call(symbol::mem_alloc_managed)(
        &address, shape().size_bytes, static_cast<unsigned int>(CU_MEM_ATTACH_GLOBAL));
    keep(slot, reinterpret_cast<void*>(address));
  }
  void free(std::size_t slot) override {
    context().driver().call(symbol::mem_free)(reinterpret_cast<CUdeviceptr>(take(slot)));
  }
};

}  // namespace

std::unique_ptr<Allocator> make_host_allocator(const Context& context,
                                               const AllocationShape& shape) {
  switch (shape.kind) {
    case AllocationKind::heap:
      return std::make_unique<Heap>(context, shape);
    case AllocationKind::mapping:
      return std::make_unique<Mapping>(context, shape);
    case AllocationKind::pinned:
      return std::make_unique<Pinned>(context, shape, 0U);
    case AllocationKind::write_combined:
      return std::make_unique<Pinned>(context, shape, unsigned{CU_MEMHOSTALLOC_WRITECOMBINED});
    case AllocationKind::registered:
      return std::make_unique<Registered>(context, shape);
    case AllocationKind::registered_heap:
      return std::make_unique<RegisteredHeap>(context, shape);
    case AllocationKind::huge_pinned:
      return std::make_unique<HugePinned>(context, shape);
    case AllocationKind::pooled:
      return std::make_unique<Pooled>(context, shape);
    case AllocationKind::managed:
      return std::make_unique<Managed>(context, shape);
    default:
      throw UsageError(std::string("no host memory: ") + name_of(shape.kind));
  }
}

}  // namespace isthmus::measure

// Arrays aligned to a cache line of the CPU.
#pragma once

#include <cstddef>
#include <new>

namespace isthmus::sim {

/// An allocator for std::vector.
template <class Element>
struct AlignedAllocator {
  using value_type = Element;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <class Other>
  AlignedAllocator(const AlignedAllocator<Other>& /*other*/) {}

  Element* allocate(std::size_t count) {
    return static_cast<Element*>(::operator new(count * sizeof(Element), kAlignment));
  }
  void deallocate(Element* elements, std::size_t /*count*/) {
    ::operator delete(elements, kAlignment);
  }
  bool operator==(const AlignedAllocator&) const { return true; }
};

}  // namespace isthmus::sim

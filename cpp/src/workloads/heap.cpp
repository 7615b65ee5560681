#include "workloads/heap.hpp"

#include <cstdlib>
#include <new>

namespace isthmus::workloads {

void Heap::Release::operator()(std::byte* memory) const { std::free(memory); }

Heap::Piece Heap::allocate_bytes(const std::string& name, std::uint64_t size_bytes) {
  // calloc: pages that a kernel never touches are never allocated.
  auto* memory = static_cast<std::byte*>(std::calloc(size_bytes + kAlignmentBytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  memory_.emplace_back(memory);
  const std::uint64_t address = next_address_;
  allocations_.push_back({name, address, size_bytes});
  next_address_ += (size_bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  return {memory, address};
}

}  // namespace isthmus::workloads

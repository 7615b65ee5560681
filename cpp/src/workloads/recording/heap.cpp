#include "workloads/recording/heap.hpp"

#include <cstdlib>
#include <limits>
#include <new>

#include <isthmus/errors.hpp>

namespace isthmus::workloads {

void Heap::Release::operator()(std::byte* memory) const { std::free(memory); }

void Heap::check_elements(const std::string& name, std::uint64_t num_elements) {
  if (num_elements <= std::numeric_limits<std::uint32_t>::max()) return;
  throw UsageError("the workload's array \"" + name + "\" would have " +
                   std::to_string(num_elements) +
                   " elements, and a kernel's index has 32 bits: " + "choose smaller sizes");
}

Heap::Piece Heap::allocate_bytes(const std::string& name, std::uint64_t size_bytes) {
  const std::uint64_t total_bytes = next_address_ - kFirstAddress + size_bytes;
  if (total_bytes > kMostBytes)
    throw UsageError("the workload would have " + std::to_string(total_bytes >> 20U) +
                     " MiB, and at most " + std::to_string(kMostBytes >> 20U) +
                     " MiB are simulated: choose smaller sizes");
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

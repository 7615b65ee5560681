#include "workloads/recording/heap.hpp"

#include <algorithm>
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
  if (total_bytes > kMaxBytes)
    throw UsageError("the workload would have " + std::to_string(total_bytes >> 20U) +
                     " MiB, and at most " + std::to_string(kMaxBytes >> 20U) +
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

void Heap::read(std::uint64_t address, std::span<std::byte> target) const {
  for (std::size_t i = 0; i < allocations_.size(); ++i) {
    const trace::Allocation& one = allocations_[i];
    if (address < one.address || address - one.address > one.size_bytes) continue;
    const std::uint64_t first = address - one.address;
    if (target.size() > one.size_bytes - first) continue;
    std::copy_n(memory_[i].get() + first, target.size(), target.data());
    return;
  }
  throw UsageError(std::to_string(target.size()) + " bytes at address " + std::to_string(address) +
                   " don't lie in one of the workload's arrays");
}

}  // namespace isthmus::workloads

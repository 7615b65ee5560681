#include "host/memory/huge_mapping.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "host/cpu/signal_block.hpp"
#include "host/memory/first_touch.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::host {

PageableBuffer::PageableBuffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  if (size_bytes == 0) throw UsageError("pageable buffer of 0 bytes: give at least 1");
  void* mapping =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "mmap of " + std::to_string(size_bytes) + " bytes of host memory");
  }
  data_ = static_cast<std::byte*>(mapping);
}

PageableBuffer::PageableBuffer(PageableBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

PageableBuffer& PageableBuffer::operator=(PageableBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

PageableBuffer::~PageableBuffer() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
}

namespace {

constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);
// Linux supports at most 1024 nodes (CONFIG_NODES_SHIFT 10).
constexpr std::size_t kMaxNodes = 1024;

[[noreturn]] void throw_no_room(std::size_t size_bytes, int error) {
  throw std::system_error(error, std::generic_category(),
                          "mapping " + std::to_string(size_bytes) + " bytes of host memory");
}

/// Maps more than needed, and unmaps what is before and after the aligned part.
std::byte* map_aligned(std::size_t size_bytes) {
  const std::size_t mapped_bytes = size_bytes + kHugePageBytes;
  if (mapped_bytes < size_bytes) throw_no_room(size_bytes, ENOMEM);
  void* mapping = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw_no_room(size_bytes, errno);
  auto* const start = static_cast<std::byte*>(mapping);
  const std::size_t before_bytes =
      (kHugePageBytes - reinterpret_cast<std::uintptr_t>(start) % kHugePageBytes) % kHugePageBytes;
  const std::size_t behind_bytes = mapped_bytes - before_bytes - size_bytes;
  if (before_bytes > 0) munmap(start, before_bytes);
  if (behind_bytes > 0) munmap(start + before_bytes + size_bytes, behind_bytes);
  return start + before_bytes;
}

/// Best effort: if a sandbox or container forbids it, pages lie where the threads run.
void prefer_node(std::byte* memory, std::size_t size_bytes, int node) {
  const auto id = static_cast<std::size_t>(node);
  if (id >= kMaxNodes) return;
  std::array<unsigned long, kMaxNodes / kBitsPerWord> nodes{};
  nodes[id / kBitsPerWord] = 1UL << (id % kBitsPerWord);
  // The kernel reads one bit fewer than the given count: see numactl's libnuma.
  syscall(SYS_mbind, memory, size_bytes, MPOL_PREFERRED, nodes.data(), kMaxNodes + 1, 0);
}

}  // namespace

HugeMapping::HugeMapping(std::size_t size_bytes, int numa_node, InChildren in_children) {
  if (size_bytes == 0) throw UsageError("host memory of 0 bytes: give at least 1");
  size_bytes_ = round_up(size_bytes, page_bytes());
  if (size_bytes_ == 0) throw_no_room(size_bytes, ENOMEM);
  data_ = map_aligned(size_bytes_);
  if (in_children == InChildren::missing) madvise(data_, size_bytes_, MADV_DONTFORK);
  advise_huge_pages(data_, size_bytes_);
  if (numa_node >= 0) prefer_node(data_, size_bytes_, numa_node);
}

void HugeMapping::drop_pages(int num_threads) noexcept {
  const auto num_parts = static_cast<std::size_t>(std::max(1, num_threads));
  const std::size_t num_huge = (size_bytes_ + kHugePageBytes - 1) / kHugePageBytes;
  const std::size_t part_bytes = (num_huge + num_parts - 1) / num_parts * kHugePageBytes;
  const auto drop = [this, part_bytes](std::size_t offset) {
    madvise(data_ + offset, std::min(part_bytes, size_bytes_ - offset), MADV_DONTNEED);
  };
  std::vector<std::thread> threads;
  try {
    const ScopedSignalBlock block;
    threads.reserve(num_parts);
    for (std::size_t offset = part_bytes; offset < size_bytes_; offset += part_bytes) {
      threads.emplace_back(drop, offset);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): unmapping gives back the rest
  }
  if (data_ != nullptr) drop(0);
  for (std::thread& thread : threads) thread.join();
}

HugeMapping::HugeMapping(HugeMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

HugeMapping& HugeMapping::operator=(HugeMapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

HugeMapping::~HugeMapping() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
}

}  // namespace isthmus::host

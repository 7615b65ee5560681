#include "measure/memory/host_regions.hpp"

#include <algorithm>
#include <cstring>

#include <isthmus/errors.hpp>

#include "host/cpu/copy_instructions.hpp"
#include "host/cpu/topology.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMaxRegions = 64;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20U;

/// At least a page apart, but not by a multiple of the page size: prefetchers stop at a page's end,
/// and equal offsets would compete for the same cache sets.
std::size_t stride_for(std::size_t size_bytes) {
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes + kPageBytes + 64;
}

std::size_t count_for(std::size_t size_bytes, bool cold) {
  if (!cold) return 1;
  return std::clamp(kMaxBytes / stride_for(size_bytes), std::size_t{1}, kMaxRegions);
}

std::size_t checked(std::size_t size_bytes) {
  if (size_bytes == 0) throw UsageError("a copy through a window needs at least 1 byte");
  return size_bytes;
}

}  // namespace

HostRegions::HostRegions(std::size_t size_bytes, bool cold, std::optional<int> numa_node)
    : size_bytes_(checked(size_bytes)),
      stride_bytes_(stride_for(size_bytes)),
      count_(count_for(size_bytes, cold)),
      cold_(cold),
      buffer_(count_ * stride_bytes_) {
  if (cold && host::eviction_instruction().empty()) {
    throw Unavailable("cold CPU caches", "this CPU's programs can't evict cache lines",
                      "an x86-64 or 64-bit Arm CPU");
  }
  std::optional<host::ScopedMemoryPolicy> policy;
  if (numa_node) policy.emplace(*numa_node);
  std::memset(buffer_.data(), 0, buffer_.size_bytes());
}

void HostRegions::fill(const std::byte* bytes) const {
  for (std::size_t i = 0; i < count_; ++i) std::memcpy((*this)[i], bytes, size_bytes_);
}

void HostRegions::fill(unsigned char byte) const {
  for (std::size_t i = 0; i < count_; ++i) std::memset((*this)[i], byte, size_bytes_);
}

void HostRegions::make_ready() const {
  if (!cold_) return;
  for (std::size_t i = 0; i < count_; ++i) host::evict_from_caches((*this)[i], size_bytes_);
}

}  // namespace isthmus::measure

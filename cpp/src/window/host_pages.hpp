// Pages of this process's address space, owned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "window/allocation.hpp"

namespace isthmus::window {

/// Owns mapped pages: unmaps them when it is destroyed, and keeps them out of children of fork().
/// Does nothing in a child: something else may be mapped at the address there.
class MappedHostPages {
public:
  MappedHostPages(void* data, std::size_t size_bytes);
  ~MappedHostPages();
  MappedHostPages(const MappedHostPages&) = delete;
  MappedHostPages& operator=(const MappedHostPages&) = delete;

  /// Unmaps now.
  void release() noexcept;
  /// Gives up the pages before `end`; their new owner unmaps them.
  void give_up_before(void* end) noexcept;

private:
  void* data_;
  std::size_t size_bytes_;
  std::uint64_t process_;
};

/// Reserves addresses without memory, for several mappings side by side.
///
/// Throws      Unavailable if the process has no such address range left.
void* reserve_host_pages(std::size_t size_bytes);

/// Whether another buffer may get the same device memory while a mapping holds it, as far as that
/// can be known: small buffers share a piece of memory, a pool reuses freed memory, and memory from
/// cuMemCreate can be mapped elsewhere.
///
/// Source      docs/adr/0005-windows.md. Driver 580.159.04: buffers below 2 MiB share 2 MiB.
bool shares_pages(const Allocation& allocation) noexcept;

}  // namespace isthmus::window

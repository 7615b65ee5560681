// Copies from and to mapped files, which may shrink at any time.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// The number of copied bytes; less than `size_bytes` if the file ends before.
///
/// The kernel copies (process_vm_writev, process_vm_readv) and returns an error where the CPU's own
/// load or store would raise SIGBUS. From the page cache to a slot it takes 1.15 to 1.25 times as
/// long as memcpy, on one thread or fourteen. Where a sandbox forbids it, the range is checked and
/// then copied by memcpy: a file that shrinks in between raises SIGBUS after all. Source:
/// tag explorations, benchmarks/transfer.
std::size_t copy_from_mapped_file(std::byte* target, const std::byte* source,
                                  std::size_t size_bytes) noexcept;
std::size_t copy_to_mapped_file(std::byte* target, const std::byte* source,
                                std::size_t size_bytes) noexcept;

/// Lets the kernel start reading what isn't in the page cache. Doesn't wait.
void read_ahead(const std::byte* memory, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer

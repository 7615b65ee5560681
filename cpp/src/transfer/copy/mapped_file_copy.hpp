// Copies from and to mapped files that may shrink at any time.
#pragma once

#include <cstddef>

namespace isthmus::transfer {

/// Bytes that were copied; less than asked for if the file ends before.
///
/// The kernel copies (process_vm_readv), which is an error where the CPU's own load would be a
/// SIGBUS. It takes 1.15 times as long as memcpy from the page cache. Where a sandbox forbids it,
/// memcpy copies what was there a moment ago: a file that shrinks just then is a SIGBUS after all.
/// Source: benchmarks/transfer/README.md.
std::size_t copy_from_mapped_file(std::byte* target, const std::byte* source,
                                  std::size_t size_bytes) noexcept;
std::size_t copy_to_mapped_file(std::byte* target, const std::byte* source,
                                std::size_t size_bytes) noexcept;

/// Lets the kernel begin to read what isn't in the page cache. Waits for nothing.
void read_ahead(const std::byte* memory, std::size_t size_bytes) noexcept;

}  // namespace isthmus::transfer

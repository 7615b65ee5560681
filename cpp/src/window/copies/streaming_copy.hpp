// Copies between host memory and a write-combined mapping, with the widest available instructions.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "host/cpu/copy_instructions.hpp"

namespace isthmus::window {

/// One implementation of copies. Its functions may be called from any thread.
///
/// write       host to mapping, without a fence. Any length, any alignment on both sides; only
///             whole 64-byte lines are streamed, the ends are stored with plain stores. Never
///             stores outside [target, target + size_bytes).
/// read        mapping to host by streaming loads. Loads whole aligned 64-byte lines, so it may
///             load (and discard) up to 63 bytes before and after the range, never across a page;
///             stores only [target, target + size_bytes). Complete when it returns.
///             only [target, target + size_bytes). Complete when it returns.
struct StreamingCopy {
  std::string_view name;  ///< "avx512"
  void (*write)(void* target, const void* source, std::size_t size_bytes);
  void (*read)(void* target, const void* source, std::size_t size_bytes);
};

/// Orders all stores before this point, including write-combined ones, before all stores after it.
void store_fence() noexcept;
/// Orders loads before this point before all memory accesses after it.
void load_fence() noexcept;

/// All implementations that `instructions` allow, best first; at least "portable": plain stores.
std::vector<const StreamingCopy*> streaming_copies(const host::CopyInstructions& instructions);
/// The best implementation for this machine.
const StreamingCopy& best_streaming_copy();

}  // namespace isthmus::window

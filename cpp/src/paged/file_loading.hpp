// Reads a part of a file to where it belongs in memory, by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace isthmus {

struct FilePart {
  int descriptor = -1;
  std::uint64_t offset_bytes = 0;
  std::size_t size_bytes = 0;
};

/// part         begins with a block of 4096 bytes, if it isn't empty
/// memory       [part.size_bytes], 4096-byte aligned; 4096 more bytes are writable
/// interrupted  asked by the calling thread before each piece of its own, at least once
/// Throws       UsageError if the file is too short or reading fails; Unavailable if no descriptors
///              are left; Interrupted. No thread reads any more.
void load_blocks(const FilePart& part, std::byte* memory, const std::function<bool()>& interrupted);

}  // namespace isthmus

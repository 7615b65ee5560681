// One copy that several threads share, cut into chunks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "window/streaming_lines.hpp"

namespace isthmus::window {

/// A copy in chunks of whole lines of the mapping. The first `num_threads` chunks have one owner
/// each; who is done with its own takes of the rest.
struct CopyJob {
  const StreamingCopy* copy = nullptr;  ///< null asks a worker to end
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  std::size_t size_bytes = 0;
  std::size_t chunk_bytes = 0;  ///< a multiple of kLineBytes
  int num_threads = 1;
  bool to_mapping = true;

  /// The bytes of the mapping's first line that lie before the copy.
  std::size_t skipped_bytes() const noexcept {
    return bytes_into_line(to_mapping ? target : source);
  }

  std::size_t num_lines() const noexcept {
    return (skipped_bytes() + size_bytes + kLineBytes - 1) / kLineBytes;
  }

  std::size_t num_chunks() const noexcept {
    return (skipped_bytes() + size_bytes + chunk_bytes - 1) / chunk_bytes;
  }

  /// chunk_index     < num_chunks()
  void copy_chunk(std::size_t chunk_index) const {
    const std::size_t skipped = skipped_bytes();
    const std::size_t begin = std::max(chunk_index * chunk_bytes, skipped) - skipped;
    const std::size_t end = std::min((chunk_index + 1) * chunk_bytes - skipped, size_bytes);
    const auto way = to_mapping ? copy->write : copy->read;
    way(target + begin, source + begin, end - begin);
  }

  /// Copies chunks that have no owner until none is left.
  ///
  /// next_chunk  shared by the threads of this copy; num_threads before it
  void copy_rest(std::atomic<std::size_t>& next_chunk) const {
    const std::size_t end = num_chunks();
    // Most copies have no such chunks, and needn't fetch the line of the counter.
    if (end <= static_cast<std::size_t>(num_threads)) return;
    for (;;) {
      const std::size_t chunk_index = next_chunk.fetch_add(1, std::memory_order_relaxed);
      if (chunk_index >= end) return;
      copy_chunk(chunk_index);
    }
  }

  /// In the calling thread, complete.
  void copy_alone() const {
    if (!to_mapping) return copy->read(target, source, size_bytes);
    copy->write(target, source, size_bytes);
    store_fence();
  }
};

}  // namespace isthmus::window

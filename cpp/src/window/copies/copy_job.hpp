// One copy that several threads share, cut into chunks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "window/copies/streaming_lines.hpp"

namespace isthmus::window {

/// A copy in chunks of whole lines of the mapping, and one thread's share of it. Each of the first
/// `num_threads` chunks belongs to one thread. A thread that has finished its chunk takes one of
/// the others.
struct CopyJob {
  const StreamingCopy* copy = nullptr;
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  std::size_t size_bytes = 0;
  std::size_t chunk_bytes = 0;                     ///< a multiple of kLineBytes
  std::atomic<std::size_t>* next_chunk = nullptr;  ///< the next chunk without an owner; shared by
                                                   ///< the threads
  int num_threads = 1;
  std::uint16_t own_chunk = 0;  ///< below num_threads
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

  /// Copies this thread's share: its own chunk, then chunks without an owner until none is left.
  /// The caller fences.
  void copy_share() const {
    copy_chunk(own_chunk);
    const std::size_t end = num_chunks();
    // Most copies have no chunks without an owner, and needn't load the counter's cache line.
    if (end <= static_cast<std::size_t>(num_threads)) return;
    for (;;) {
      const std::size_t chunk_index = next_chunk->fetch_add(1, std::memory_order_relaxed);
      if (chunk_index >= end) return;
      copy_chunk(chunk_index);
    }
  }

  /// A worker's share, complete.
  void operator()() const {
    copy_share();
    if (to_mapping) store_fence();
  }

  /// Copies everything in the calling thread, complete.
  void copy_alone() const {
    if (!to_mapping) return copy->read(target, source, size_bytes);
    copy->write(target, source, size_bytes);
    store_fence();
  }
};

}  // namespace isthmus::window

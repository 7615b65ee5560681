// Copies within host memory: the upper limit for all staged copies.
#pragma once

#include <array>
#include <optional>

#include "measure/loops/samples.hpp"

namespace isthmus::measure {

/// How a core stores what it copies.
enum class HostStores {
  libc,       ///< one std::memcpy, which bypasses the caches when it is large
  cached,     ///< std::memcpy of 64 KiB at a time, so that it never does that
  streaming,  ///< bypasses the caches with the best available instructions
};
constexpr auto words_of(HostStores) { return std::array{"libc", "cached", "streaming"}; }

/// Copies [source, source + size_bytes) to `target`; complete when it returns.
using HostCopy = void (*)(std::byte* target, const std::byte* source, std::size_t size_bytes);

struct HostMemcpyOptions {
  std::size_t size_bytes = 0;
  int num_threads = 1;             ///< that share one copy; at most one a page
  std::optional<int> source_node;  ///< the node of the pages read, and of the threads
  std::optional<int> target_node;  ///< the node of the pages written
  HostStores stores = HostStores::libc;
  HostCopy copy = nullptr;  ///< instead of the one for `stores`
  Stopping stopping;
};

/// Measures copies from one host buffer to another. Yields one metric, "copy_time": seconds for one
/// copy, by the CPU's clock, of copies back to back that take 1 ms, or 20 ms with several threads.
/// The threads begin together; the time ends when the last has finished. The caches are warm: data
/// that fits is in them.
///
/// Throws      UsageError (sizes, threads, nodes), CorruptTransfer, std::system_error.
Measurement measure_host_memcpy(const HostMemcpyOptions& options);

}  // namespace isthmus::measure

// What `isthmus bench --managed` does with memory that is on the host, as traces: to compare the
// simulated driver with a real one.
#pragma once

#include <cstdint>
#include <memory>

#include "trace/trace.hpp"

namespace isthmus::workloads {

/// In which order a read goes through its pages of 4 KiB.
enum class PageOrder {
  forward,  ///< from the first to the last: isthmus_pattern_verify
  random,   ///< each once, in the order of kernels/page_order.cuh: isthmus_pattern_verify_pages
};

/// All of some memory is read, by `num_reads` launches one after the other, as kernels/pattern.cu
/// reads it: eight CTAs of 256 threads for each core, 8 bytes for each thread, and then again behind
/// what all of them have read.
///
/// Throws      UsageError unless `size_bytes` is 1 to 2^36 and a multiple of 4096, `num_cores` is 1
///             to 256, and `num_reads` 1 to 16.
std::unique_ptr<trace::Source> make_managed_read(std::uint64_t size_bytes, std::uint32_t num_cores,
                                                 PageOrder order, std::uint32_t num_reads = 1);

/// All of some memory is written once, as kernels/pattern.cu writes it, by as many threads. Then the
/// CPU reads all of it.
///
/// Throws      as make_managed_read.
std::unique_ptr<trace::Source> make_managed_write(std::uint64_t size_bytes,
                                                  std::uint32_t num_cores);

/// Who follows a chain through pages: kernels/pointer_chase.cu.
enum class Chaser {
  gpu,           ///< one thread
  gpu_then_cpu,  ///< then the CPU, which takes the pages back
};

/// A word is read in one page after the other, 2 MiB apart.
///
/// Throws      UsageError unless `num_pages` is 1 to 4096.
std::unique_ptr<trace::Source> make_page_chase(std::uint32_t num_pages, Chaser chaser);

}  // namespace isthmus::workloads

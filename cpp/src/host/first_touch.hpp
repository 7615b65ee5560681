// The first touch of fresh pages, which is what makes new memory slow: the kernel finds a page and
// zeroes it. One thread does some 3 GB/s in small pages; several threads in huge pages do 50.
// Source: benchmarks/transfer/pinning.cpp; see PinnedRegion.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace isthmus::host {

/// What transparent huge pages are on x86-64, and on arm64 with 4 KiB pages.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
/// What one thread touches between two looks at whether to stop.
inline constexpr std::size_t kTouchBytes = kHugePageBytes;

/// Makes the pages of a range present and writable, in the calling thread. Changes no byte of them,
/// so it may run on memory that is in use, its first and last pages included.
///
/// memory      host, writable, [size_bytes]; needn't be aligned
/// Returns     false if the kernel has no memory for them, or they aren't memory that can be
/// written
///             (where the kernel can tell, by MADV_POPULATE_WRITE, Linux 5.14: before that it is a
///             signal).
bool touch_pages(std::byte* memory, std::size_t size_bytes) noexcept;

/// Asks for huge pages in the part of a range that has room for whole ones. Holds until the memory
/// is unmapped. Pages that are there already stay as they are.
///
/// Returns     false if there is no room for one, or the kernel has none to offer.
bool advise_huge_pages(std::byte* memory, std::size_t size_bytes) noexcept;

/// True if most of a range has no pages yet: judged by up to 16 of them, 5 us in all.
bool mostly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept;

struct TouchOptions {
  int num_threads = 1;    ///< at least 1
  std::vector<int> cpus;  ///< for the threads to run on; {}: where the caller may
};

/// Threads that touch a range from its start to its end while the caller does something else.
/// The caller may use the memory meanwhile.
class ParallelTouch {
public:
  /// memory      host, [size_bytes], stays until this object is gone
  /// Throws      std::system_error if there isn't even one thread to be had.
  ParallelTouch(std::byte* memory, std::size_t size_bytes, const TouchOptions& options);
  /// Stops and joins.
  ~ParallelTouch();
  ParallelTouch(const ParallelTouch&) = delete;
  ParallelTouch& operator=(const ParallelTouch&) = delete;

  /// Makes the threads end after what they are at. From any thread.
  void stop() noexcept;
  /// Waits, briefly, until the threads have begun with the first `size_bytes`, or have ended.
  void wait_until_begun(std::size_t size_bytes) const noexcept;
  /// Waits until all is touched, or the threads were stopped or failed. Once.
  ///
  /// Returns     true if all of it is touched.
  bool wait();
  /// Seconds from the start until the last thread ended; 0 before wait().
  double seconds() const noexcept;
  /// Page faults that the touching took: one for each page, huge or not; 0 before wait().
  std::size_t num_faults() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isthmus::host

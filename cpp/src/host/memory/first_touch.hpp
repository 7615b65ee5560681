// The first touch of new pages, which makes new memory slow: the kernel finds a page and zeroes it.
// One thread touches some 3 GB/s in small pages; several threads with huge pages 50. Source:
// benchmarks/transfer/pinning.cpp; see PinnedRegion.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace isthmus::host {

/// The size of transparent huge pages on x86-64, and on arm64 with 4 KiB pages.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20U;
/// What one thread touches between two checks whether to stop.
inline constexpr std::size_t kTouchBytes = kHugePageBytes;

/// Makes the pages of a range present and writable, in the calling thread. Changes no byte, so it
/// may run on memory that is in use, including the first and last page.
///
/// memory      host, writable, [size_bytes]; needn't be aligned
/// Returns     false if the kernel has no memory for them, or the memory isn't writable (the kernel
///             can tell by MADV_POPULATE_WRITE since Linux 5.14; before, it raises a signal).
bool touch_pages(std::byte* memory, std::size_t size_bytes) noexcept;

/// Asks for huge pages in the part of a range that can hold whole ones. Effective until the memory
/// is unmapped. Existing pages don't change.
///
/// Returns     false if no huge page fits, or the kernel has none, or gave none to this process when
///             it first asked (see gives_advised_huge_pages()).
bool advise_huge_pages(std::byte* memory, std::size_t size_bytes) noexcept;

/// True if most of a range has no pages yet: checks up to 16 of them, 5 us in all.
bool mostly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept;

struct TouchOptions {
  int num_threads = 1;    ///< at least 1
  std::vector<int> cpus;  ///< for the threads; {}: the caller's CPUs
};

/// Threads that touch a range from its start to its end while the caller does something else.
/// The caller may use the memory meanwhile.
class ParallelTouch {
public:
  /// memory      host, [size_bytes]; must outlive this object
  /// Throws      std::system_error if not even one thread can be started.
  ParallelTouch(std::byte* memory, std::size_t size_bytes, const TouchOptions& options);
  /// Stops and joins.
  ~ParallelTouch();
  ParallelTouch(const ParallelTouch&) = delete;
  ParallelTouch& operator=(const ParallelTouch&) = delete;

  /// Makes the threads end soon. May be called from any thread.
  void stop() noexcept;
  /// Waits briefly until the threads have begun the first `size_bytes`, or have ended.
  void wait_until_begun(std::size_t size_bytes) const noexcept;
  /// Waits until everything is touched, or the threads were stopped or failed. Call it once.
  ///
  /// Returns     true if everything is touched.
  bool wait();
  /// Seconds from the start until the last thread ended; 0 before wait().
  double seconds() const noexcept;
  /// Page faults of the threads: one for each page, huge or not; 0 before wait().
  std::size_t num_faults() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isthmus::host

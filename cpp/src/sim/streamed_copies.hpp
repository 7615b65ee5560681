// What the copies and the kernels of a program wait for, if its copies run in streams beside them.
//
// The rule. Copies to the GPU are cut into chunks and queued on one stream, copies to the CPU on
// another; both streams keep the program's order, except that arrays which are copied together may
// take turns (ChunkOrder). Then:
//
//   upload    begins after the last earlier kernel that touches its bytes has ended, and after all
//             earlier downloads have arrived, since the CPU may have computed it from them
//   CTA       begins when all chunks that it and the CTAs before it touch have arrived: the grid is
//             launched in slices, in order, and a slice waits for its chunks
//   download  begins when the last earlier kernel that stores to its bytes has ended
//   kernel    begins after the kernel before it, and after the downloads of bytes that it stores to
//
// A programmer knows this much of a regular kernel: which part of each array a block works on. Of
// an irregular one nobody knows more than that it may touch all of an array; the order of the CTAs
// makes one far access hold up all later CTAs, so that this differs little. Nothing waits for single
// lines, and no byte that the program copies is left out.
// Copies that run in streams beside kernels: each is booked on the link as soon as it may begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/link.hpp"
#include "sim/options.hpp"
#include "sim/result.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// A piece of a copy, in the order of its stream.
struct PlannedCopy {
  std::uint64_t size_bytes = 0;
  std::uint32_t after_launches = 0;   ///< so many launches have ended, from the first
  std::uint32_t after_downloads = 0;  ///< uploads: so many downloads have arrived, from the first
};

struct PlannedLaunch {
  std::vector<std::uint32_t> chunks;  ///< [num_ctas]: so many chunks of uploads have arrived
  std::uint32_t after_downloads = 0;
};

struct CopyPlan {
  std::vector<PlannedCopy> uploads;    ///< chunks
  std::vector<PlannedCopy> downloads;  ///< whole copies
  std::vector<PlannedLaunch> launches;
};

/// Reads all of `source`, from its first block, and rewinds it.
///
/// chunk_bytes  of uploads; more than 0
/// Throws       UsageError if the uploads have more chunks than can be held; what the source throws.
///              A source that isn't that of its program isn't refused here.
CopyPlan plan_copies(trace::Source& source, std::uint64_t chunk_bytes, ChunkOrder order);

class StreamedCopies {
public:
  /// link, traffic    outlive this object
  /// count_downloads  false: they take no time
  StreamedCopies(CopyPlan plan, bool count_downloads, HostLink& link, Traffic& traffic);

  /// `num_launches` launches have ended, the last of them at `time_ps`: books what may begin.
  void launches_ended(std::uint32_t num_launches, Picoseconds time_ps);

  /// Whether all copies that a launch waits for have been booked, as they are when all launches
  /// before it have ended.
  bool booked(std::uint32_t launch) const;
  /// When CTA `cta` of a launch has its chunks; these and the next one's copies must be booked.
  Picoseconds arrived_ps(std::uint32_t launch, std::uint32_t cta) const;
  /// When the downloads of bytes that a launch stores to are done.
  Picoseconds stores_may_begin_ps(std::uint32_t launch) const;
  /// When all copies that were booked are done.
  Picoseconds end_ps() const;

private:
  bool book_download(std::uint32_t num_launches, Picoseconds time_ps);
  bool book_upload(std::uint32_t num_launches, Picoseconds time_ps);

  CopyPlan plan_;
  bool count_downloads_;
  HostLink& link_;
  Traffic& traffic_;
  std::vector<Picoseconds> uploaded_ps_{0};    // [n]: when the first n chunks have arrived
  std::vector<Picoseconds> downloaded_ps_{0};  // [n]: the first n downloads
};

}  // namespace isthmus::sim

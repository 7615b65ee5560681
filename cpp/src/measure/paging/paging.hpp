// The programs of Zhang 2019's evaluation on a real device, by one way after the other in which a
// kernel's data gets there.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/stream.hpp"
#include "measure/loops/sampling.hpp"
#include "paged/paged_memory.hpp"
#include "workloads/host_run.hpp"

namespace isthmus::measure {

enum class PagingWay {
  ideal,       ///< all data is on the device before
  copies,      ///< the program's own copies to the device, without its kernels
  programmer,  ///< its own copies, one after the other, and its kernels: as it was written
  paged,       ///< nothing is copied: its memory is a paged array
  promised,    ///< the same; it says first what kernels fill: PagedMemory::will_overwrite()
  prefetched,  ///< the same; what it would copy is prefetched meanwhile, in a stream of its own
  prefetched_first,  ///< the same, before its first kernel, in their stream
  managed,           ///< managed memory on the host, which moves when kernels touch it
  managed_hints,     ///< prefetched where the program copies; what the host touches stays there
  /// What the program copies before a launch is one cuMemPrefetchBatchAsync; what kernels fill is
  /// discarded and prefetched before the first, by cuMemDiscardAndPrefetchBatchAsync.
  managed_batches,
  zero_copy,  ///< kernels access pinned memory in place
};
constexpr auto words_of(PagingWay) {
  return std::array{"ideal",         "copies",          "programmer",       "paged",
                    "promised",      "prefetched",      "prefetched_first", "managed",
                    "managed_hints", "managed_batches", "zero_copy"};
}

struct PagingOptions {
  PagingWay way = PagingWay::ideal;
  PagedOptions paged;  ///< for PagingWay::paged, promised, prefetched and prefetched_first
  Stopping stopping;
};

/// A workload, its memory on the host (pinned), and what it has to compute.
class PagingWorkload {
public:
  /// run     may be large: its memory is allocated once more
  /// Throws  OutOfDeviceMemory if that can't be pinned
  PagingWorkload(const Context& context, const Kernels& kernels,
                 std::unique_ptr<workloads::HostRun> run);
  ~PagingWorkload();
  PagingWorkload(PagingWorkload&&) noexcept;
  PagingWorkload& operator=(PagingWorkload&&) = delete;

  std::uint64_t memory_bytes() const;
  std::uint64_t uploaded_bytes() const;

  /// Measures one way. Yields one metric, "run": seconds by the CPU's clock from the first copy or
  /// launch until the last kernel has ended. Copies of results aren't in it, as in the paper; a flag
  /// that the host reads and clears between launches is.
  ///
  /// Before each sample all memory is again as before the program ran, at the place where the way
  /// has it. The results of the first and the last run are compared with the host's.
  ///
  /// Throws    Unavailable (managed memory isn't here, or not so much free), OutOfDeviceMemory,
  ///           CorruptTransfer if results differ, UsageError (more than 512 MiB of managed memory;
  ///           options of paged arrays), DriverError.
  Measurement measure(const PagingOptions& options);

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// How a kernel is given the memory: as which of the four kinds of kernels/workload.cuh, and where.
struct HeapArgument {
  const char* kind;
  CUdeviceptr pointer;
};

/// What all ways share.
struct PagingPlace {
  const Context& context;
  const Kernels& kernels;
  const workloads::HostRun& run;
  const PinnedBuffer& host;  ///< the program's memory, like run.memory()
  const Stream& stream;      ///< of its copies and kernels
};

/// One way. Members are called in this order for each run; what a run lets kernels change in
/// `place.host` is restored by prepare().
class WayOfPaging {
public:
  explicit WayOfPaging(const PagingPlace& place) : place_(place) {}
  WayOfPaging(const WayOfPaging&) = delete;
  WayOfPaging& operator=(const WayOfPaging&) = delete;
  virtual ~WayOfPaging() = default;

  /// Not timed: makes all memory as it is before the program runs, and waits.
  virtual void prepare() = 0;
  /// The program copies to the device.
  virtual void upload(const workloads::Part& part) { static_cast<void>(part); }
  /// The host reads what kernels have stored; waits for them.
  virtual void read(const workloads::Part& part) = 0;
  /// The host writes, when nothing runs.
  virtual void write(const workloads::Part& part, std::span<const std::byte> bytes) = 0;
  /// Called before each launch.
  virtual HeapArgument heap() = 0;
  virtual bool launches() const { return true; }
  /// Not timed: brings the results to the host, and gives its memory.
  virtual std::span<const std::byte> finish() = 0;

protected:
  /// Makes the host's memory as it was before.
  void restore(std::byte* memory) const;

  const PagingPlace& place_;
};

std::unique_ptr<WayOfPaging> make_way(const PagingPlace& place, const PagingOptions& options);

}  // namespace isthmus::measure

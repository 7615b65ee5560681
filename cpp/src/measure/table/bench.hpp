// What the rows of loops.inc are measured with: a device, and what is opened on it for several
// measurements.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <isthmus/window.hpp>

#include "measure/bandwidth/bandwidth.hpp"
#include "measure/bandwidth/gpu_flows.hpp"
#include "measure/latency/latency.hpp"
#include "measure/latency/small_transfer.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

struct UnderLoadOptions : DuplexOptions {
  Direction direction = Direction::host_to_device;  ///< that is timed
};

struct SmallCopyOptions : LatencyOptions {
  HostMemory host_memory = HostMemory::pinned;
  std::optional<int> numa_node;  ///< of the host memory
};

struct KernelThenCopyOptions : SmallTransferOptions {
  LoopClock clock = LoopClock::host;
};

/// What one measurement is given.
struct Given {
  const Kernels* kernels = nullptr;
  std::vector<CopyBuffers*> buffers;
  std::vector<Gpu> gpus;
};

/// Not for use by two threads at once.
class Bench {
public:
  explicit Bench(const Context& context) : context_(context) {}

  void give(Given given) { given_ = std::move(given); }
  const Context& context() const noexcept { return context_; }
  const Kernels* kernels() const noexcept { return given_.kernels; }
  /// Throws UsageError if there is none of that number. gpu() does too.
  CopyBuffers& buffers(std::size_t index) const;
  const Gpu& gpu(std::size_t index) const;
  const std::vector<Gpu>& gpus() const noexcept { return given_.gpus; }

  /// Opened when first needed. Throws UsageError for wrong settings of windows.
  Windows& windows();
  /// The backend and the instructions of windows here. Throws Unavailable if there are none.
  std::pair<std::string, std::string> describe_windows();
  /// What users should be told once, such as an untested driver; empties the list.
  std::vector<std::string> take_notices();

  /// measure_latency with buffers that all sizes share.
  Measurement measure_small_copies(const SmallCopyOptions& options);

private:
  CopyBuffers& small_buffers(const SmallCopyOptions& options);

  Context context_;
  Given given_;
  std::optional<Windows> windows_;
  std::map<HostMemory, CopyBuffers> small_buffers_;
};

}  // namespace isthmus::measure

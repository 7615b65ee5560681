// The pipeline of copies and kernels for measuring overlap.
#pragma once

#include <optional>

#include "measure/bandwidth/overlap.hpp"
#include "measure/loops/common_start.hpp"

namespace isthmus::measure {

/// Chunks that go through copy, kernel and copy in several streams.
///
/// up       host side of the buffers -> a stream's chunk of device memory -> their device side
/// down     device side of the buffers -> a stream's chunk -> their host side
/// duplex   separate pinned memory -> two chunks of each stream -> host side of the buffers
///
/// The caller holds a CurrentContext. Not to be used by two threads at once.
class Pipeline {
public:
  /// Which parts of it run.
  struct Parts {
    bool copies = true;
    bool kernels = true;
  };

  Pipeline(CopyBuffers& buffers, const Kernels& kernels, const OverlapOptions& options);

  /// Sets the total time of the kernels of all chunks, from now on.
  void use_compute_seconds(double seconds) { compute_seconds_ = seconds; }

  /// Runs all of it once without a gate: a kernel that is loaded at its first launch would deadlock
  /// behind one. Returns the seconds until it is done, by the CPU's clock.
  double first_run();

  /// Runs it once and waits. Returns the seconds from the common start to the last stream's end.
  double run(const Parts& parts);

  /// Overwrites everything that the pipeline writes, including its own memory.
  void poison();
  /// Throws CorruptTransfer unless every chunk has passed through all stages.
  VerifiedOn verify(const Kernels* kernels);

private:
  Direction verified_direction() const;
  void enqueue_chunk(std::size_t chunk, const Parts& parts);
  void compute(const Stream& stream, CUdeviceptr source, CUdeviceptr target);
  /// The target of a stream's uploads, and the source of its downloads.
  CUdeviceptr slot_up(std::size_t stream) const;
  CUdeviceptr slot_down(std::size_t stream) const;

  CopyBuffers& buffers_;
  Context context_;
  OverlapOptions options_;
  std::size_t chunk_bytes_;
  double compute_seconds_ = 0;
  Kernel work_;
  std::size_t slots_per_stream_;
  DeviceBuffer slots_;
  std::optional<PinnedBuffer> source_;  ///< of uploads, if there are downloads too
  CommonStart start_;                   ///< destroyed before the memory, and releases held streams
  Event kernel_done_;
  bool any_kernel_ = false;  ///< in this run: kernel_done_ was recorded
};

}  // namespace isthmus::measure

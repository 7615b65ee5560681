// The pipeline of copies and kernels that overlap is measured with.
#pragma once

#include <optional>

#include "measure/bandwidth/overlap.hpp"
#include "measure/loops/common_start.hpp"

namespace isthmus::measure {

/// Chunks that go through copy, kernel and copy in several streams.
///
/// up       host side of the buffers -> a stream's chunk of device memory -> their device side
/// down     device side of the buffers -> a stream's chunk -> their host side
/// duplex   pinned memory of its own -> two chunks of each stream -> host side of the buffers
///
/// The caller holds a CurrentContext. Not to be used by two threads at once.
class Pipeline {
public:
  /// What of it runs.
  struct Parts {
    bool copies = true;
    bool kernels = true;
  };

  Pipeline(CopyBuffers& buffers, const Kernels& kernels, const OverlapOptions& options);

  /// How long the kernels of all chunks last together, from now on.
  void use_compute_seconds(double seconds) { compute_seconds_ = seconds; }

  /// Runs all of it once without holding anything back: a kernel that is loaded by its first launch
  /// would wait for ever behind a gate. Returns the seconds until it is done, by the CPU's clock.
  double first_run();

  /// Runs it once, waited for. Returns the seconds from the common start to the last stream's end.
  double run(const Parts& parts);

  /// Makes what the pipeline writes hold something else, its own memory included.
  void poison();
  /// Throws CorruptTransfer unless every chunk has gone all the way.
  VerifiedOn verify(const Kernels* kernels);

private:
  Direction verified_direction() const;
  void enqueue_chunk(std::size_t chunk, const Parts& parts);
  void compute(const Stream& stream, CUdeviceptr source, CUdeviceptr target);
  /// Where a stream's copies up go, and where its copies down come from.
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
  std::optional<PinnedBuffer> source_;  ///< of the copies up, if there are copies down too
  CommonStart start_;                   ///< goes before the memory, and lets held streams go
  Event kernel_done_;
  bool any_kernel_ = false;  ///< of this run: kernel_done_ was recorded
};

}  // namespace isthmus::measure

// Copies of several GPUs at once, each a flow: with the host, or with each other.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/peer_access.hpp"
#include "device/stream.hpp"
#include "measure/bandwidth/concurrent_flows.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sm_copy.hpp"

namespace isthmus::measure {

struct HostFlowOptions {
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  Engine by = Engine::copy_engine;
};

/// Copies between the two ends of `buffers`, which must be pinned and outlive this.
class HostFlow final : public Flow {
public:
  /// kernels   null: prepared and verified from the host
  /// Throws    UsageError (size; pageable memory, whose copies can't wait behind a gate);
  ///           Unavailable if the kernels that should copy are missing; DriverError.
  HostFlow(CopyBuffers& buffers, const Kernels* kernels, const HostFlowOptions& options);

  const Context& context() const override { return buffers_.context(); }
  std::size_t size_bytes() const override { return options_.size_bytes; }
  void prepare() override { buffers_.prepare(kernels_); }
  void poison() override { buffers_.poison(options_.direction, options_.size_bytes); }
  void enqueue(CUstream stream) const override { copy_(stream); }
  VerifiedOn verify() override {
    return buffers_.verify(options_.direction, options_.size_bytes, kernels_);
  }

private:
  CopyBuffers& buffers_;
  const Kernels* kernels_;
  HostFlowOptions options_;
  std::function<void(CUstream)> copy_;
};

/// Which of the two devices makes the copy.
enum class PeerRole {
  read,   ///< the receiver
  write,  ///< the sender
};
constexpr auto words_of(PeerRole) { return std::array{"read", "write"}; }

/// A device at one end.
struct PeerEnd {
  Context context;
  const Kernels* kernels = nullptr;  ///< null: filled and compared through the host
};

struct PeerOptions {
  PeerRole role = PeerRole::read;
  Engine by = Engine::copy_engine;  ///< of the device that makes the copy
  std::size_t size_bytes = 0;
};

/// Copies directly from device to device, by cuMemcpyPeerAsync or by a kernel that reads or writes
/// the other device's memory.
class PeerFlow final : public Flow {
public:
  /// Throws   UsageError (size, the same device twice), OutOfDeviceMemory, DriverError; Unavailable
  ///          if the devices can't reach each other, or kernels should copy and there are none.
  PeerFlow(const PeerEnd& source, const PeerEnd& target, const PeerOptions& options);

  const Context& context() const override { return asker().context; }
  std::size_t size_bytes() const override { return options_.size_bytes; }
  void prepare() override;
  void poison() override;
  void enqueue(CUstream stream) const override;
  VerifiedOn verify() override;

private:
  const PeerEnd& asker() const { return options_.role == PeerRole::read ? target_ : source_; }
  const PeerEnd& other() const { return options_.role == PeerRole::read ? source_ : target_; }
  std::uint64_t mismatches_seen_from_host() const;

  PeerEnd source_;
  PeerEnd target_;
  PeerOptions options_;
  PeerAccess access_;
  DeviceBuffer from_;
  DeviceBuffer to_;
  BufferContents contents_;
  std::optional<Kernel> kernel_;  ///< empty: the copy engine does it
};

/// A GPU that takes part.
struct Gpu {
  Context context;
  const Kernels* kernels = nullptr;
  std::optional<int> node;  ///< of host memory near it; empty: any
};

struct AllGpusOptions {
  Direction direction = Direction::host_to_device;
  bool both_ways = false;  ///< each GPU copies in the other direction, too
  Engine by = Engine::copy_engine;
  std::size_t size_bytes = 0;
  bool under_load = false;  ///< only the first GPU, alone and while all copy
  Stopping stopping;
};

/// Measures copies between pinned host memory and all GPUs, by measure_aggregate or
/// measure_under_load, and throws what these throw.
Measurement measure_all_gpus(const std::vector<Gpu>& gpus, const AllGpusOptions& options);

struct PeersOptions {
  PeerOptions peer;
  bool both_ways = false;  ///< while the other GPU makes the same copies
  Stopping stopping;
};

/// Measures copies that the first GPU makes from or to the second, by measure_flow or
/// measure_under_load, and throws what these throw.
Measurement measure_peers(const std::vector<Gpu>& gpus, const PeersOptions& options);

struct OneGpuOptions {
  PeerOptions peer;
  bool gathers = false;  ///< the first GPU receives; else it sends
  Stopping stopping;
};

/// Measures copies between the first GPU and all others, by measure_aggregate as "copy_time", and
/// throws what that throws.
Measurement measure_one_gpu(const std::vector<Gpu>& gpus, const OneGpuOptions& options);

}  // namespace isthmus::measure

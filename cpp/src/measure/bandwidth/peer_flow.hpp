// Copies from one device's memory to another's, as a flow.
#pragma once

#include <array>
#include <optional>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/peer_access.hpp"
#include "device/stream.hpp"
#include "measure/loops/contents.hpp"
#include "measure/loops/flow.hpp"
#include "measure/loops/sm_copy.hpp"

namespace isthmus::measure {

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

}  // namespace isthmus::measure

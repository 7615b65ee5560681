// Copies between the host and one device, as a flow.
#pragma once

#include <functional>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/flow.hpp"
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

}  // namespace isthmus::measure

// The ways of paging.hpp: where a program's memory is, and what the host does for each of its steps.
#pragma once

#include <memory>
#include <span>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "measure/paging/paging.hpp"

namespace isthmus::measure {

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

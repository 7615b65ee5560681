#include "measure/latency/latency.hpp"

#include <algorithm>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/link_copies.hpp"

namespace isthmus::measure {
namespace {

constexpr unsigned kBlockLanes = 256;
constexpr std::size_t kBlockBytes = std::size_t{kBlockLanes} * 16;  // four words a thread
constexpr unsigned kMaxBlocks = 32;

/// cudaMemcpy: on the legacy default stream.
class BlockingCopy final : public SmallCopy {
public:
  BlockingCopy(const CopyBuffers& buffers, Direction direction, std::size_t size_bytes)
      : copy_(buffers, direction, size_bytes), driver_(buffers.context().driver()) {}

  void call() override { copy_.blocking(); }
  void wait() override { driver_.call(symbol::stream_synchronize)(nullptr); }
  CUstream stream() const noexcept override { return nullptr; }

private:
  Copy copy_;
  Driver driver_;
};

/// Anything that is enqueued on a stream of its own.
template <typename Enqueue>
class EnqueuedCopy final : public SmallCopy {
public:
  EnqueuedCopy(const Context& context, Enqueue enqueue)
      : enqueue_(std::move(enqueue)), stream_(context) {}

  void call() override { enqueue_(stream_.handle()); }
  void wait() override { stream_.synchronize(); }
  CUstream stream() const noexcept override { return stream_.handle(); }

private:
  Enqueue enqueue_;
  Stream stream_;
};

template <typename Enqueue>
std::unique_ptr<SmallCopy> enqueued(const CopyBuffers& buffers, Enqueue enqueue) {
  return std::make_unique<EnqueuedCopy<Enqueue>>(buffers.context(), std::move(enqueue));
}

/// A copy by the CPU. A write has arrived when its last byte can be read back: a load pushes
/// earlier stores ahead of it (PCI Express Base Specification, transaction ordering).
class WindowCopy final : public SmallCopy {
public:
  WindowCopy(const CopyBuffers& buffers, Windows& windows, Direction direction,
             std::size_t size_bytes)
      : window_(windows.open(buffers.device(), buffers.size_bytes())),
        host_(buffers.host()),
        size_bytes_(size_bytes),
        writes_(direction == Direction::host_to_device) {}

  void call() override {
    if (writes_) {
      window_.write(0, host_, size_bytes_);
    } else {
      window_.read(host_, 0, size_bytes_);
    }
  }
  void wait() override {
    std::byte last{};
    if (writes_) window_.read(&last, size_bytes_ - 1, 1);
  }
  CUstream stream() const noexcept override { return nullptr; }

private:
  Window window_;
  std::byte* host_;
  std::size_t size_bytes_;
  bool writes_;
};

std::unique_ptr<SmallCopy> kernel_copy(const CopyBuffers& buffers, const Kernels* kernels,
                                       Direction direction, std::size_t size_bytes) {
  if (kernels == nullptr) {
    throw Unavailable("copy by a kernel", "there is no NVRTC to compile it", "NVRTC");
  }
  const Kernel kernel = kernels->get("copy", "isthmus_copy");
  CUdeviceptr source = buffers.host_on_device();
  CUdeviceptr target = buffers.device();
  if (direction == Direction::device_to_host) std::swap(source, target);
  const std::size_t wanted = (size_bytes + kBlockBytes - 1) / kBlockBytes;
  const auto num_blocks = static_cast<unsigned>(std::min<std::size_t>(kMaxBlocks, wanted));
  return enqueued(buffers, [=](CUstream stream) {
    kernel.launch(stream, num_blocks, kBlockLanes, source, target,
                  static_cast<unsigned long long>(size_bytes));
  });
}

std::unique_ptr<SmallCopy> window_copy(const CopyBuffers& buffers, Windows* windows,
                                       Direction direction, std::size_t size_bytes) {
  if (windows == nullptr)
    throw Unavailable("copy through a window", "there are no windows here", "");
  return std::make_unique<WindowCopy>(buffers, *windows, direction, size_bytes);
}

void require_pinned(const CopyBuffers& buffers, Method method) {
  const bool either =
      method == Method::blocking || method == Method::async || method == Method::window;
  if (!either && buffers.host_memory() == HostMemory::pageable)
    throw UsageError("batches, graphs and kernels copy pinned memory: this is pageable");
}

}  // namespace

MethodTraits traits_of(Method method, Direction direction, HostMemory host_memory) {
  const bool to_host = direction == Direction::device_to_host;
  if (method == Method::window) return {false, false, to_host};
  if (method == Method::blocking) return {true, false, to_host};
  return {true, host_memory != HostMemory::pageable, false};
}

std::unique_ptr<SmallCopy> make_small_copy(CopyBuffers& buffers, const Kernels* kernels,
                                           Windows* windows, Direction direction, Method method,
                                           std::size_t size_bytes) {
  require_pinned(buffers, method);
  const bool to_device = direction == Direction::host_to_device;
  const LinkCopy link{buffers.host(), buffers.device(), size_bytes, to_device};
  switch (method) {
    case Method::blocking:
      return std::make_unique<BlockingCopy>(buffers, direction, size_bytes);
    case Method::async:
      return enqueued(buffers, [copy = Copy(buffers, direction, size_bytes)](CUstream stream) {
        copy.enqueue(stream);
      });
    case Method::batch:
      return enqueued(buffers, [batch = CopyBatch(buffers.context(), {&link, 1})](CUstream stream) {
        batch.enqueue(stream);
      });
    case Method::graph:
      return enqueued(buffers, [graph = CopyGraph(buffers.context(), {&link, 1})](CUstream stream) {
        graph.enqueue(stream);
      });
    case Method::kernel:
      return kernel_copy(buffers, kernels, direction, size_bytes);
    case Method::window:
      return window_copy(buffers, windows, direction, size_bytes);
  }
  throw UsageError("no such way to copy");
}

}  // namespace isthmus::measure

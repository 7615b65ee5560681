#include "measure/table/bench.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {

CopyBuffers& Bench::buffers(std::size_t index) const {
  if (index < given_.buffers.size()) return *given_.buffers[index];
  throw UsageError("this loop needs " + std::to_string(index + 1) + " pairs of buffers");
}

const Gpu& Bench::gpu(std::size_t index) const {
  if (index < given_.gpus.size()) return given_.gpus[index];
  throw UsageError("this loop needs " + std::to_string(index + 1) + " GPUs");
}

Windows& Bench::windows() {
  if (!windows_) windows_.emplace(context_.driver());
  return *windows_;
}

std::pair<std::string, std::string> Bench::describe_windows() {
  const CurrentContext current(context_);
  const DeviceBuffer buffer(context_, 4096);
  const Window window = windows().open(buffer.pointer(), buffer.size_bytes());
  return {std::string(name_of(window.backend())), std::string(window.instructions())};
}

std::vector<std::string> Bench::take_notices() {
  return windows_ ? windows_->take_notices() : std::vector<std::string>{};
}

Measurement Bench::measure_small_copies(const SmallCopyOptions& options) {
  SmallCopyOptions given = options;
  if (options.method == Method::window) given.windows = &windows();
  CopyBuffers& buffers = small_buffers(options);
  Measurement found = measure_latency(buffers, kernels(), given);
  found.host_pages_by_node = buffers.host_pages_by_node();
  return found;
}

CopyBuffers& Bench::small_buffers(const SmallCopyOptions& options) {
  const HostMemory memory = options.host_memory;
  const auto found = small_buffers_.find(memory);
  if (found != small_buffers_.end() && found->second.size_bytes() >= options.size_bytes)
    return found->second;
  small_buffers_.erase(memory);
  const std::size_t own_piece = std::max(options.size_bytes, kOwnPieceBytes);
  return small_buffers_.try_emplace(memory, context_, memory, own_piece, options.numa_node)
      .first->second;
}

}  // namespace isthmus::measure

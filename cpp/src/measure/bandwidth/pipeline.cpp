#include "measure/bandwidth/pipeline.hpp"

#include <algorithm>
#include <cstring>

#include <isthmus/errors.hpp>

#include "measure/bandwidth/piece_copy.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr unsigned char kPoison = 0x69;
constexpr std::size_t kWordBytes = 16;
constexpr unsigned kBlockLanes = 256;
// Few enough to be resident together on any device, beside a gate's kernel; enough to process a
// chunk in far less time than the link needs for it.
constexpr unsigned kMaxBlocks = 32;

std::size_t checked_chunk(const CopyBuffers& buffers, const OverlapOptions& options) {
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("pageable copies can't run behind a gate: overlap needs pinned memory");
  }
  const std::size_t chunks = options.num_chunks;
  if (chunks == 0 || options.size_bytes == 0 || options.size_bytes % (kWordBytes * chunks) != 0) {
    throw UsageError("a pipeline of " + std::to_string(options.size_bytes) + " bytes in " +
                     std::to_string(chunks) + " chunks: needs chunks of 16, 32, ... bytes");
  }
  buffers.check_size(options.size_bytes);
  return options.size_bytes / chunks;
}

unsigned blocks_for(const Context& context) {
  return std::clamp(static_cast<unsigned>(std::max(1, context.device().num_multiprocessors)), 1U,
                    kMaxBlocks);
}

}  // namespace

Pipeline::Pipeline(CopyBuffers& buffers, const Kernels& kernels, const OverlapOptions& options)
    : buffers_(buffers),
      context_(buffers.context()),
      options_(options),
      chunk_bytes_(checked_chunk(buffers, options)),
      work_(kernels.get("work", "isthmus_work")),
      slots_per_stream_(options.copies == PipelineCopies::duplex ? 2 : 1),
      slots_(context_,
             slots_per_stream_ * std::max<std::size_t>(1, options.num_streams) * chunk_bytes_),
      start_(context_, &kernels, options.num_streams, options.gate_timeout),
      kernel_done_(context_, Event::Timing::disabled) {
  if (options.copies != PipelineCopies::duplex) return;
  source_.emplace(context_, options.size_bytes);
  std::memcpy(source_->data(), buffers.host(), options.size_bytes);
}

Direction Pipeline::verified_direction() const {
  return options_.copies == PipelineCopies::up ? Direction::host_to_device
                                               : Direction::device_to_host;
}

CUdeviceptr Pipeline::slot_up(std::size_t stream) const {
  return slots_.pointer() + slots_per_stream_ * stream * chunk_bytes_;
}

CUdeviceptr Pipeline::slot_down(std::size_t stream) const {
  return slot_up(stream) + (slots_per_stream_ - 1) * chunk_bytes_;
}

double Pipeline::first_run() {
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < options_.num_chunks; ++i) enqueue_chunk(i, {});
  for (std::size_t i = 0; i < start_.num_streams(); ++i) start_.stream(i).synchronize();
  return seconds_since(begin);
}

double Pipeline::run(const Parts& parts) {
  any_kernel_ = false;
  start_.hold();
  start_.mark_start();
  for (std::size_t i = 0; i < options_.num_chunks; ++i) enqueue_chunk(i, parts);
  start_.mark_end();
  start_.release();
  start_.wait();
  return start_.makespan_seconds();
}

void Pipeline::enqueue_chunk(std::size_t chunk, const Parts& parts) {
  const std::size_t index = chunk % options_.num_streams;
  const Stream& stream = start_.stream(index);
  const std::size_t offset = chunk * chunk_bytes_;
  const CUdeviceptr whole = buffers_.device() + offset;
  const bool up = options_.copies != PipelineCopies::down;
  const bool down = options_.copies != PipelineCopies::up;
  std::byte* from = (source_ ? source_->data() : buffers_.host()) + offset;
  if (parts.copies && up)
    enqueue(context_.driver(), {from, slot_up(index), chunk_bytes_, true}, stream.handle());
  if (parts.kernels) compute(stream, up ? slot_up(index) : whole, down ? slot_down(index) : whole);
  if (parts.copies && down)
    enqueue(context_.driver(), {buffers_.host() + offset, slot_down(index), chunk_bytes_, false},
            stream.handle());
}

/// Kernels run one after the other, whichever streams they are in.
void Pipeline::compute(const Stream& stream, CUdeviceptr source, CUdeviceptr target) {
  if (any_kernel_) stream.wait(kernel_done_);
  const double seconds = compute_seconds_ / static_cast<double>(options_.num_chunks);
  work_.launch(stream.handle(), blocks_for(context_), kBlockLanes, source, target,
               static_cast<unsigned long long>(chunk_bytes_),
               static_cast<unsigned long long>(seconds * 1e9));
  kernel_done_.record(stream.handle());
  any_kernel_ = true;
}

void Pipeline::poison() {
  buffers_.poison(verified_direction(), options_.size_bytes);
  const Stream& stream = start_.stream(0);
  context_.driver().call(symbol::memset_d8_async)(slots_.pointer(), kPoison, slots_.size_bytes(),
                                                  stream.handle());
  stream.synchronize();
}

VerifiedOn Pipeline::verify(const Kernels* kernels) {
  return buffers_.verify(verified_direction(), options_.size_bytes, kernels);
}

}  // namespace isthmus::measure

#include "measure/bandwidth/overlap.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include <isthmus/errors.hpp>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

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

constexpr Pipeline::Parts kCopiesOnly{.copies = true, .kernels = false};
constexpr Pipeline::Parts kKernelsOnly{.copies = false, .kernels = true};
constexpr Pipeline::Parts kBoth{};

/// Samples of the pipeline and of its halves, taken in turns: a slowdown of the device then affects
/// all three.
struct Turns {
  Sampling together;
  std::vector<double> copy_seconds;
  std::vector<double> compute_seconds;

  /// The pipeline comes last: afterwards all bytes are where they belong.
  void take(Pipeline& pipeline) {
    copy_seconds.push_back(pipeline.run(kCopiesOnly));
    compute_seconds.push_back(pipeline.run(kKernelsOnly));
    together.add(pipeline.run(kBoth));
  }

  void finish_into(Measurement& measurement) && {
    Samples whole = std::move(together).finish("together", 1);
    const StoppedBy stopped_by = whole.stopped_by;
    measurement.samples.push_back(std::move(whole));
    measurement.samples.push_back({"copy_alone", std::move(copy_seconds), 1, stopped_by});
    measurement.samples.push_back({"compute_alone", std::move(compute_seconds), 1, stopped_by});
  }
};

}  // namespace

Measurement measure_overlap(CopyBuffers& buffers, const Kernels* kernels,
                            const OverlapOptions& options) {
  if (kernels == nullptr) {
    throw Unavailable("computation beside copies", "there is no NVRTC to compile a kernel",
                      "NVRTC");
  }
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  OverlapOptions useful = options;
  useful.num_streams = std::min(options.num_streams, options.num_chunks);
  Pipeline pipeline(buffers, *kernels, useful);
  buffers.disturb();  // a half of a pipeline copies other bytes than the whole one
  Measurement measurement;
  measurement.first_call_seconds = pipeline.first_run();
  pipeline.run(kCopiesOnly);
  pipeline.use_compute_seconds(pipeline.run(kCopiesOnly));
  pipeline.poison();
  Turns turns{Sampling(options.stopping), {}, {}};
  while (turns.together.wants_more()) turns.take(pipeline);
  measurement.verified_on = options.stopping.verify ? pipeline.verify(kernels) : VerifiedOn::nobody;
  std::move(turns).finish_into(measurement);
  return measurement;
}

}  // namespace isthmus::measure

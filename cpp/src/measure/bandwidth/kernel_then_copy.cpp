// The experiments with a kernel and a download, blocking and asynchronous.
#include "measure/latency/small_transfer.hpp"
#include "measure/latency/small_transfer_buffers.hpp"
#include "measure/latency/small_transfer_runs.hpp"

namespace isthmus::measure {
namespace {

using Word = SmallTransferBuffers::Word;

/// Times a whole loop by either clock.
class LoopTimer {
public:
  LoopTimer(const Context& context, LoopClock clock)
      : context_(context), clock_(clock), first_(context), last_(context) {}

  /// Seconds of `loop()` on `stream`, including the wait for work that it left enqueued.
  template <typename Loop>
  double seconds(CUstream stream, Loop loop) const {
    const auto finish = context_.driver().call(symbol::stream_synchronize);
    const bool by_device = clock_ == LoopClock::device;
    const auto start = Clock::now();
    if (by_device) first_.record(stream);
    loop();
    if (by_device) last_.record(stream);
    finish(stream);
    return by_device ? elapsed_seconds(context_, first_, last_) : seconds_since(start);
  }

private:
  Context context_;
  LoopClock clock_;
  Event first_;
  Event last_;
};

/// Kernel and download, blocking and asynchronous.
class KernelThenCopy {
public:
  KernelThenCopy(const Context& context, const Kernels& kernels, LoopClock clock,
                 const SmallTransferOptions& options)
      : driver_(context.driver()),
        set_(kernels.get("small_transfer", "isthmus_small_transfer_set")),
        timer_(context, clock),
        buffers_(context, options.size_bytes, options.num_iterations, options.numa_node),
        stream_(context, Stream::Kind::blocking),
        num_iterations_(options.num_iterations) {}

  /// Seconds for one iteration.
  double blocking_run() {
    buffers_.reset();
    std::uint64_t sum = 0;
    const double seconds = timer_.seconds(nullptr, [&] {
      for (std::size_t i = 0; i < num_iterations_; ++i) {
        set(nullptr, i);
        driver_.call(symbol::memcpy_dtoh)(static_cast<void*>(buffers_.pageable()),
                                          buffers_.device(), buffers_.size_bytes());
        sum += SmallTransferBuffers::word_at(buffers_.pageable());
      }
    });
    buffers_.check(sum, num_iterations_, buffers_.pageable());
    return seconds / static_cast<double>(num_iterations_);
  }

  double async_run() {
    buffers_.reset();
    const double seconds = timer_.seconds(stream_.handle(), [&] {
      for (std::size_t i = 0; i < num_iterations_; ++i) {
        set(stream_.handle(), i);
        driver_.call(symbol::memcpy_dtoh_async)(static_cast<void*>(buffers_.pinned(i)),
                                                buffers_.device(), buffers_.size_bytes(),
                                                stream_.handle());
      }
    });
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < num_iterations_; ++i)
      sum += SmallTransferBuffers::word_at(buffers_.pinned(i));
    buffers_.check(sum, num_iterations_, buffers_.pinned(num_iterations_ - 1));
    return seconds / static_cast<double>(num_iterations_);
  }

private:
  void set(CUstream stream, std::size_t value) const {
    set_.launch(stream, 1, 1, buffers_.device(), static_cast<Word>(value));
  }

  Driver driver_;
  Kernel set_;
  LoopTimer timer_;
  SmallTransferBuffers buffers_;
  Stream stream_;
  std::size_t num_iterations_;
};

}  // namespace

Measurement measure_kernel_then_copy(const Context& context, const Kernels* kernels,
                                     LoopClock clock, const SmallTransferOptions& options) {
  const CurrentContext current(context);
  KernelThenCopy loop(context, light_kernels(kernels), clock, options);
  Measurement measurement;
  measurement.first_call_seconds = loop.blocking_run();  // kernels are loaded now
  loop.async_run();
  Runs runs(options.stopping);
  while (runs.wants_more()) {
    const double blocking = loop.blocking_run();
    const double async = loop.async_run();
    runs.add({{"blocking", blocking}, {"async", async}, {"async_over_blocking", async / blocking}});
  }
  measurement.samples = std::move(runs).finish(options.num_iterations);
  return measurement;
}

}  // namespace isthmus::measure

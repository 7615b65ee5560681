// The small-transfer experiments: one sample is one run, which yields several quantities.
#include "measure/latency/small_transfer.hpp"

#include <initializer_list>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/kernels.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

using Word = SmallTransferBuffers::Word;

/// Throws   Unavailable if `kernels` is null.
const Kernels& light_kernels(const Kernels* kernels) {
  if (kernels == nullptr)
    throw Unavailable("light kernel", "there is no NVRTC to compile it", "NVRTC");
  return *kernels;
}

/// Collects the named values of each run, until there are enough runs.
class Runs {
public:
  explicit Runs(const Stopping& stopping) : sampling_(stopping) {}

  bool wants_more() { return sampling_.wants_more(); }
  /// first     the value that the stopping rule looks at; the others are taken with it
  void add(std::initializer_list<std::pair<const char*, double>> values) {
    sampling_.add(values.begin()->second);
    if (columns_.empty())
      for (const auto& [metric, value] : values) columns_.push_back({metric, {}, 1, {}});
    std::size_t column = 0;
    for (const auto& [metric, value] : values) columns_[column++].seconds.push_back(value);
  }
  std::vector<Samples> finish(std::size_t copies_per_sample) && {
    const StoppedBy stopped_by = std::move(sampling_).finish("", copies_per_sample).stopped_by;
    for (Samples& column : columns_) {
      column.copies_per_sample = copies_per_sample;
      column.stopped_by = stopped_by;
    }
    return std::move(columns_);
  }

private:
  Sampling sampling_;
  std::vector<Samples> columns_;
};

/// Upload, kernel, download: the total time of each copy in a run.
class CopyKernelCopy {
public:
  struct Seconds {
    double upload = 0;
    double download = 0;
  };

  CopyKernelCopy(const Context& context, const Kernels& kernels,
                 const SmallTransferOptions& options)
      : context_(context),
        invert_(kernels.get("small_transfer", "isthmus_small_transfer_invert")),
        buffers_(context, options.size_bytes, places_for(options), options.numa_node),
        target_place_(places_for(options) - 1),
        stream_(context, Stream::Kind::blocking),
        upload_(context),
        kernel_done_(context),
        download_(context),
        num_iterations_(options.num_iterations) {}

  /// The average of one iteration.
  Seconds run() {
    buffers_.reset_for_upload();
    Seconds sum;
    std::uint64_t values = 0;
    for (std::size_t i = 0; i < num_iterations_; ++i) values += iteration(i, sum);
    buffers_.check(values, num_iterations_, target());
    const auto count = static_cast<double>(num_iterations_);
    return {sum.upload / count, sum.download / count};
  }

private:
  /// The source is place 0; the target is the first place behind the source's end.
  static std::size_t places_for(const SmallTransferOptions& options) {
    if (options.num_iterations == 0) return 0;
    const std::size_t place_bytes = SmallTransferBuffers::kPlaceBytes;
    return (options.size_bytes + place_bytes - 1) / place_bytes + 1;
  }
  std::byte* target() const { return buffers_.pinned(target_place_); }

  /// The events around a copy.
  struct Around {
    explicit Around(const Context& context) : first(context), last(context) {}
    Event first;
    Event last;
  };

  template <typename Call>
  void enqueue(const Around& events, Call copy) const {
    events.first.record(stream_.handle());
    copy();
    events.last.record(stream_.handle());
  }
  double seconds(const Around& events) const {
    return elapsed_seconds(context_, events.first, events.last);
  }

  Word iteration(std::size_t i, Seconds& sum) const {
    const Driver& driver = context_.driver();
    SmallTransferBuffers::put_word(buffers_.pinned(), ~static_cast<Word>(i));
    enqueue(upload_, [&] {
      driver.call(symbol::memcpy_htod_async)(buffers_.device(),
                                             static_cast<const void*>(buffers_.pinned()),
                                             buffers_.size_bytes(), stream_.handle());
    });
    invert_.launch(stream_.handle(), 1, 1, buffers_.device());
    kernel_done_.record(stream_.handle());
    kernel_done_.synchronize();
    enqueue(download_, [&] {
      driver.call(symbol::memcpy_dtoh_async)(static_cast<void*>(target()), buffers_.device(),
                                             buffers_.size_bytes(), stream_.handle());
    });
    download_.last.synchronize();
    sum.upload += seconds(upload_);
    sum.download += seconds(download_);
    return SmallTransferBuffers::word_at(target());
  }

  Context context_;
  Kernel invert_;
  SmallTransferBuffers buffers_;
  std::size_t target_place_;
  Stream stream_;
  Around upload_;
  Event kernel_done_;
  Around download_;
  std::size_t num_iterations_;
};

}  // namespace

Measurement measure_copy_kernel_copy(const Context& context, const Kernels* kernels,
                                     const SmallTransferOptions& options) {
  const CurrentContext current(context);
  CopyKernelCopy loop(context, light_kernels(kernels), options);
  Measurement measurement;
  const CopyKernelCopy::Seconds first = loop.run();
  measurement.first_call_seconds = first.upload + first.download;
  Runs runs(options.stopping);
  while (runs.wants_more()) {
    const auto [upload, download] = loop.run();
    runs.add({{"upload", upload},
              {"download", download},
              {"both_ways", upload + download},
              {"download_over_upload", download / upload}});
  }
  measurement.samples = std::move(runs).finish(options.num_iterations);
  return measurement;
}

namespace {

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

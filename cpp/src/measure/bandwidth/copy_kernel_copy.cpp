// The experiment with an upload, a light kernel and a download.
#include "measure/latency/small_transfer.hpp"
#include "measure/latency/small_transfer_buffers.hpp"
#include "measure/latency/small_transfer_runs.hpp"

namespace isthmus::measure {
namespace {

using Word = SmallTransferBuffers::Word;

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

}  // namespace isthmus::measure

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
        stream_(context),
        first_(context),
        last_(context),
        kernel_done_(context),
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

  template <typename Call>
  double timed(Call copy) const {
    first_.record(stream_.handle());
    copy();
    last_.record(stream_.handle());
    last_.synchronize();
    return elapsed_seconds(context_, first_, last_);
  }

  Word iteration(std::size_t i, Seconds& sum) const {
    const Driver& driver = context_.driver();
    SmallTransferBuffers::put_word(buffers_.pinned(), ~static_cast<Word>(i));
    sum.upload += timed([&] {
      driver.call(symbol::memcpy_htod_async)(buffers_.device(),
                                             static_cast<const void*>(buffers_.pinned()),
                                             buffers_.size_bytes(), stream_.handle());
    });
    invert_.launch(stream_.handle(), 1, 1, buffers_.device());
    kernel_done_.record(stream_.handle());
    kernel_done_.synchronize();
    sum.download += timed([&] {
      driver.call(symbol::memcpy_dtoh_async)(static_cast<void*>(target()), buffers_.device(),
                                             buffers_.size_bytes(), stream_.handle());
    });
    return SmallTransferBuffers::word_at(target());
  }

  Context context_;
  Kernel invert_;
  SmallTransferBuffers buffers_;
  std::size_t target_place_;
  Stream stream_;
  Event first_;
  Event last_;
  Event kernel_done_;
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

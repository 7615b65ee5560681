#include "measure/bandwidth/overlap.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

#include "measure/bandwidth/pipeline.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

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

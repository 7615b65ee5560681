#include "measure/bandwidth/many_copies.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include <isthmus/errors.hpp>

#include "measure/bandwidth/piece_copy.hpp"
#include "measure/bandwidth/scattered_pieces.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kWarmUpRounds = 3;
constexpr unsigned kBlockLanes = 256;
constexpr std::size_t kBlockBytes = std::size_t{kBlockLanes} * 16;
constexpr unsigned kBlocksPerMultiprocessor = 2;

/// One way to move all pieces.
struct Way {
  std::function<void(CUstream)> ask;
  std::function<void()> finish;  ///< the CPU's work after the device is done; may be empty
};

Way by_loop(const ScatteredPieces& pieces, Direction direction) {
  return {[driver = pieces.buffers().context().driver(),
           copies = pieces.copies(direction)](CUstream stream) {
            for (const LinkCopy& copy : copies) enqueue(driver, copy, stream);
          },
          {}};
}

/// CopyBatch or CopyGraph.
template <typename Request>
Way by_request(const ScatteredPieces& pieces, Direction direction) {
  const std::vector<LinkCopy> copies = pieces.copies(direction);
  return {[request = std::make_shared<Request>(pieces.buffers().context(), copies)](
              CUstream stream) { request->enqueue(stream); },
          {}};
}

unsigned blocks_for(const ScatteredPieces& pieces) {
  const int num_multiprocessors = pieces.buffers().context().device().num_multiprocessors;
  const auto most =
      kBlocksPerMultiprocessor * static_cast<unsigned>(std::max(1, num_multiprocessors));
  const std::size_t wanted = (pieces.total_bytes() + kBlockBytes - 1) / kBlockBytes;
  return static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, most));
}

Way by_kernel(const ScatteredPieces& pieces, Direction direction, const Kernels* kernels) {
  if (kernels == nullptr) {
    throw Unavailable("kernel that moves pieces", "there is no NVRTC to compile it", "NVRTC");
  }
  const bool up = direction == Direction::host_to_device;
  const Kernel kernel = kernels->get("gather", up ? "isthmus_gather" : "isthmus_scatter");
  const auto number = [](std::size_t value) { return static_cast<unsigned long long>(value); };
  return {[kernel, num_blocks = blocks_for(pieces), host = pieces.slots_on_device(),
           device = pieces.buffers().device(), piece_bytes = number(pieces.piece_bytes()),
           slot_bytes = number(pieces.slot_bytes()), num_pieces = number(pieces.num_pieces()),
           slot_step = number(pieces.slot_step())](CUstream stream) {
            kernel.launch(stream, num_blocks, kBlockLanes, host, device, piece_bytes, slot_bytes,
                          num_pieces, slot_step);
          },
          {}};
}

Way packed(const ScatteredPieces& pieces, Direction direction) {
  const CopyBuffers& buffers = pieces.buffers();
  const bool up = direction == Direction::host_to_device;
  const LinkCopy whole{buffers.host(), buffers.device(), pieces.total_bytes(), up};
  const auto copy = [driver = buffers.context().driver(), whole](CUstream stream) {
    enqueue(driver, whole, stream);
  };
  if (!up) return {copy, [&pieces] { pieces.unpack(); }};
  return {[&pieces, copy](CUstream stream) {
            pieces.pack();
            copy(stream);
          },
          {}};
}

Way way_for(const ScatteredPieces& pieces, const Kernels* kernels,
            const ManyCopiesOptions& options) {
  switch (options.way) {
    case ManyCopiesWay::loop:
      return by_loop(pieces, options.direction);
    case ManyCopiesWay::batch:
      return by_request<CopyBatch>(pieces, options.direction);
    case ManyCopiesWay::graph:
      return by_request<CopyGraph>(pieces, options.direction);
    case ManyCopiesWay::kernel:
      return by_kernel(pieces, options.direction, kernels);
    case ManyCopiesWay::packed:
      return packed(pieces, options.direction);
  }
  throw UsageError("no such way to make many copies");
}

/// Both times of each round.
class Rounds {
public:
  Rounds(const Way& way, const Stream& stream) : way_(way), stream_(stream) {}

  double one() {
    const auto start = Clock::now();
    way_.ask(stream_.handle());
    asked_seconds_ = seconds_since(start);
    stream_.synchronize();
    if (way_.finish) way_.finish();
    return seconds_since(start);
  }

  void sample_into(Measurement& measurement, const Stopping& stopping) {
    std::vector<double> asked;
    Samples completion = sample(stopping, "completion", 1, [&] {
      const double seconds = one();
      asked.push_back(asked_seconds_);
      return seconds;
    });
    const StoppedBy stopped_by = completion.stopped_by;
    measurement.samples.push_back({"api_return", std::move(asked), 1, stopped_by});
    measurement.samples.push_back(std::move(completion));
  }

private:
  const Way& way_;
  const Stream& stream_;
  double asked_seconds_ = 0;
};

}  // namespace

Measurement measure_many_copies(CopyBuffers& buffers, const Kernels* kernels,
                                const ManyCopiesOptions& options) {
  const CurrentContext current(buffers.context());
  ScatteredPieces pieces(buffers, options.piece_bytes, options.num_pieces);
  pieces.prepare(kernels);
  const Way way = way_for(pieces, kernels, options);
  const Stream stream(buffers.context());
  Rounds rounds(way, stream);
  Measurement measurement;
  measurement.first_call_seconds = rounds.one();
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) rounds.one();
  pieces.poison(options.direction);
  Measurement sampled;
  rounds.sample_into(sampled, options.stopping);
  measurement.verified_on =
      options.stopping.verify ? pieces.verify(options.direction, kernels) : VerifiedOn::nobody;
  measurement.samples = std::move(sampled.samples);
  return measurement;
}

}  // namespace isthmus::measure

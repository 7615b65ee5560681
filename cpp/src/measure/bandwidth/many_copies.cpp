#include "measure/bandwidth/many_copies.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include <isthmus/errors.hpp>

#include "host/memory/pages.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0x3C;
constexpr std::size_t kWordBytes = 4;

std::size_t checked_piece(std::size_t piece_bytes, std::size_t num_pieces,
                          const CopyBuffers& buffers) {
  if (piece_bytes == 0 || piece_bytes % kWordBytes != 0 || num_pieces == 0) {
    throw UsageError("pieces of " + std::to_string(piece_bytes) + " bytes, " +
                     std::to_string(num_pieces) + " of them: needs 1 at least, of 4, 8, ... bytes");
  }
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("many copies need pinned memory");
  }
  buffers.check_size(piece_bytes * num_pieces);
  return piece_bytes;
}

/// Whole cache lines, and one more that isn't copied.
std::size_t slot_for(std::size_t piece_bytes) {
  return host::round_up(piece_bytes, host::kLineBytes) + host::kLineBytes;
}

/// A step that visits each slot once, far from the one before: near the golden section of their
/// number.
std::size_t step_for(std::size_t num_pieces) {
  auto step = static_cast<std::size_t>(static_cast<double>(num_pieces) * 0.618);
  while (std::gcd(step, num_pieces) != 1) ++step;
  return step;
}

}  // namespace

ScatteredPieces::ScatteredPieces(CopyBuffers& buffers, std::size_t piece_bytes,
                                 std::size_t num_pieces)
    : buffers_(buffers),
      piece_bytes_(checked_piece(piece_bytes, num_pieces, buffers)),
      slot_bytes_(slot_for(piece_bytes)),
      num_pieces_(num_pieces),
      slot_step_(step_for(num_pieces)),
      slots_(buffers.context(), slot_bytes_ * num_pieces) {}

std::vector<LinkCopy> ScatteredPieces::copies(Direction direction) const {
  std::vector<LinkCopy> found;
  found.reserve(num_pieces_);
  for (std::size_t i = 0; i < num_pieces_; ++i) {
    found.push_back({slot(i), buffers_.device() + i * piece_bytes_, piece_bytes_,
                     direction == Direction::host_to_device});
  }
  return found;
}

void ScatteredPieces::pack() const {
  for (std::size_t i = 0; i < num_pieces_; ++i)
    std::memcpy(buffers_.host() + i * piece_bytes_, slot(i), piece_bytes_);
}

void ScatteredPieces::unpack() const {
  for (std::size_t i = 0; i < num_pieces_; ++i)
    std::memcpy(slot(i), buffers_.host() + i * piece_bytes_, piece_bytes_);
}

void ScatteredPieces::prepare(const Kernels* kernels) {
  buffers_.prepare(kernels);
  unpack();
}

void ScatteredPieces::poison(Direction direction) {
  buffers_.poison(direction, total_bytes());
  // The CPU packs and unpacks here: no bytes of an earlier copy may remain.
  std::memset(buffers_.host(), kPoison, total_bytes());
  if (direction == Direction::device_to_host)
    std::memset(slots_.data(), kPoison, slots_.size_bytes());
}

VerifiedOn ScatteredPieces::verify(Direction direction, const Kernels* kernels) {
  if (direction == Direction::device_to_host) {
    pack();
    return buffers_.verify(direction, total_bytes(), kernels);
  }
  const VerifiedOn where = buffers_.verify(direction, total_bytes(), kernels);
  pack();  // the slots still hold the pattern: now both sides do
  return where;
}

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

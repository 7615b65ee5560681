#include "host/memory/pages.hpp"
#include "measure/window/window_loops.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "host/memory/pattern.hpp"
#include "measure/loops/flags.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::size_t kWarmUpRounds = 10;
constexpr unsigned kDataLanes = 256;

/// The layout of both memories: flags and data have pages of their own.
struct FlagLayout {
  explicit FlagLayout(std::size_t data_bytes)
      : output(input + host::round_up(data_bytes, host::kSmallPageBytes)),
        size_bytes(output + data_bytes + host::kSmallPageBytes) {}

  std::size_t question = 0;
  std::size_t answer = host::kSmallPageBytes;
  std::size_t input = 2 * host::kSmallPageBytes;
  std::size_t output;
  std::size_t size_bytes;
};

/// Device memory of zeros.
DeviceBuffer cleared_buffer(const Context& context, std::size_t size_bytes) {
  DeviceBuffer buffer(context, size_bytes);
  const Stream stream(context);
  context.driver().call(symbol::memset_d8_async)(buffer.pointer(), static_cast<unsigned char>(0),
                                                 size_bytes, stream.handle());
  stream.synchronize();
  return buffer;
}

/// Both memories, and how the CPU writes to and reads from each.
class Board {
public:
  Board(const Context& context, Windows& windows, std::size_t size_bytes)
      : pinned_(context, size_bytes),
        device_(cleared_buffer(context, std::max(size_bytes, kOwnPieceBytes))),
        window_(windows.open(device_.pointer(), size_bytes)) {
    std::memset(pinned_.data(), 0, size_bytes);
  }

  CUdeviceptr address(Residence residence, std::size_t offset) const {
    return (residence == Residence::device ? device_.pointer() : pinned_.device_pointer()) + offset;
  }

  /// Complete, and ordered before this thread's later stores, in either memory.
  void write(Residence residence, std::size_t offset, const Words& words) {
    const std::size_t size_bytes = words.size() * sizeof words[0];
    if (residence == Residence::device) {
      window_.write(offset, words.data(), size_bytes);
    } else {
      std::memcpy(pinned_.data() + offset, words.data(), size_bytes);
      Window::fence();  // the flag may be a streaming store, which isn't ordered after these
    }
  }
  void read(Residence residence, std::size_t offset, Words& words) const {
    const std::size_t size_bytes = words.size() * sizeof words[0];
    if (residence == Residence::device) {
      window_.read(words.data(), offset, size_bytes);
    } else {
      std::memcpy(words.data(), pinned_.data() + offset, size_bytes);
    }
  }

  void raise(Residence residence, std::size_t offset, std::uint32_t value) {
    if (residence == Residence::device) {
      window_.write(offset, &value, sizeof value);
    } else {
      flag_at(pinned_.data() + offset).store(value, std::memory_order_release);
    }
  }
  std::uint32_t look(Residence residence, std::size_t offset) const {
    if (residence == Residence::pinned) {
      return flag_at(pinned_.data() + offset).load(std::memory_order_acquire);
    }
    std::uint32_t seen = 0;
    window_.read(&seen, offset, sizeof seen);
    return seen;
  }

private:
  PinnedBuffer pinned_;
  DeviceBuffer device_;
  Window window_;
};

/// The kernel that answers, from its launch until this is destroyed.
class Partner {
public:
  Partner(const Context& context, const Kernels& kernels, Board& board, const FlagLayout& layout,
          const PingPongOptions& options)
      : driver_(context.driver()),
        board_(board),
        question_(options.question),
        question_offset_(layout.question),
        stream_(context) {
    const Residence data = options.data.value_or(Residence::device);
    const auto num_words =
        static_cast<unsigned long long>(options.data_bytes / sizeof(std::uint32_t));
    const auto num_rounds = static_cast<unsigned>(options.stopping.max_samples + kWarmUpRounds);
    kernels.get("ping_pong", "isthmus_ping_pong")
        .launch(stream_.handle(), 1, num_words == 0 ? 1 : kDataLanes,
                board.address(options.question, layout.question),
                board.address(options.answer, layout.answer), board.address(data, layout.input),
                board.address(data, layout.output), num_words, num_rounds,
                static_cast<unsigned long long>(options.answer_timeout.count() * 1e9));
  }
  ~Partner() {
    board_.raise(question_, question_offset_, kNoMoreQuestions);
    driver_.raw(symbol::stream_synchronize)(stream_.handle());
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

private:
  Driver driver_;
  Board& board_;
  Residence question_;
  std::size_t question_offset_;
  Stream stream_;
};

/// The CPU's side of the round trip.
class RoundTrips {
public:
  RoundTrips(Board& board, const FlagLayout& layout, const PingPongOptions& options)
      : board_(board),
        layout_(layout),
        options_(options),
        sent_(options.data_bytes / sizeof(std::uint32_t)),
        received_(sent_.size()) {
    host::fill_pattern(reinterpret_cast<std::byte*>(sent_.data()), options.data_bytes, 0x70696e67);
  }

  double one_round() {
    ++round_;
    const auto start = Clock::now();
    if (options_.data) board_.write(*options_.data, layout_.input, sent_);
    board_.raise(options_.question, layout_.question, round_);
    await([this] { return board_.look(options_.answer, layout_.answer); }, round_,
          options_.answer_timeout, "a kernel's answer");
    if (options_.data) board_.read(*options_.data, layout_.output, received_);
    const double seconds = seconds_since(start);
    check();
    return seconds;
  }

private:
  void check() {
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      if (received_[i] == (sent_[i] ^ round_)) continue;
      throw CorruptTransfer("verification failed: a running kernel's answer of " +
                            std::to_string(options_.data_bytes) +
                            " bytes is not complete at word " + std::to_string(i));
    }
    if (!sent_.empty()) sent_[round_ % sent_.size()] += round_;  // each round sends different data
  }

  Board& board_;
  FlagLayout layout_;
  PingPongOptions options_;
  Words sent_;
  Words received_;
  std::uint32_t round_ = 0;
};

void check_options(const Kernels* kernels, const PingPongOptions& options) {
  if (options.data.has_value() != (options.data_bytes > 0) ||
      options.data_bytes % sizeof(std::uint32_t) != 0) {
    throw UsageError("ping-pong of " + std::to_string(options.data_bytes) +
                     " bytes: data need a memory and a multiple of 4 bytes");
  }
  if (kernels != nullptr) return;
  throw Unavailable("running kernel", "there is no NVRTC to compile it", "NVRTC");
}

}  // namespace

Measurement measure_window_ping_pong(const Context& context, Windows& windows,
                                     const Kernels* kernels, const PingPongOptions& options) {
  check_options(kernels, options);
  const CurrentContext current(context);
  const FlagLayout layout(options.data_bytes);
  Board board(context, windows, layout.size_bytes);
  const Partner partner(context, *kernels, board, layout, options);
  RoundTrips trips(board, layout, options);
  Measurement measurement;
  measurement.first_call_seconds = trips.one_round();
  for (std::size_t i = 1; i < kWarmUpRounds; ++i) trips.one_round();
  measurement.samples.push_back(
      sample(options.stopping, "round_trip", 1, [&] { return trips.one_round(); }));
  return measurement;
}

}  // namespace isthmus::measure

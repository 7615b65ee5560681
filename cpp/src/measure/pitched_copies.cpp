#include "measure/pitched_copies.hpp"

#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "measure/gate.hpp"
#include "measure/repetitions.hpp"
#include "measure/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0x5A;

void check(const CopyBuffers& buffers, const PitchedCopiesOptions& options) {
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("pageable copies can't run behind a gate: 2-D copies need pinned memory");
  }
  if (options.row_bytes == 0 || options.num_rows == 0) {
    throw UsageError("a 2-D copy needs at least 1 row of 1 byte");
  }
  buffers.check_size(options.row_bytes * options.num_rows);
}

/// Rows on the device, and the copies between them and the host's.
class Rows {
public:
  Rows(CopyBuffers& buffers, const PitchedCopiesOptions& options)
      : buffers_(buffers),
        driver_(buffers.context().driver()),
        options_(options),
        pitched_(buffers.context(), pitch_of(options.row_bytes) * options.num_rows),
        image_(pitched_.size_bytes()) {}

  std::size_t size_bytes() const { return options_.row_bytes * options_.num_rows; }

  void enqueue(CUstream stream) const {
    CUDA_MEMCPY2D copy{};  // NOLINT(bugprone-invalid-enum-default-initialization): both set below
    const bool up = options_.direction == Direction::host_to_device;
    copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    (up ? copy.srcPitch : copy.dstPitch) = options_.row_bytes;
    (up ? copy.dstPitch : copy.srcPitch) = pitch_of(options_.row_bytes);
    if (up) {
      copy.srcHost = buffers_.host();
      copy.dstDevice = pitched_.pointer();
    } else {
      copy.srcDevice = pitched_.pointer();
      copy.dstHost = buffers_.host();
    }
    copy.WidthInBytes = options_.row_bytes;
    copy.Height = options_.num_rows;
    driver_.call(symbol::memcpy_2d_async)(&copy, stream);
  }

  /// The target doesn't hold what is sent, and the gaps hold what nobody sends.
  void poison() {
    std::memset(image_.data(), kPoison, image_.size());
    if (options_.direction == Direction::device_to_host) {
      for (std::size_t row = 0; row < options_.num_rows; ++row)
        std::memcpy(in_image(row), in_host(row), options_.row_bytes);
    }
    driver_.call(symbol::memcpy_htod)(pitched_.pointer(), image_.data(), image_.size());
    driver_.call(symbol::stream_synchronize)(nullptr);
    if (options_.direction == Direction::device_to_host)
      buffers_.poison(options_.direction, size_bytes());
  }

  void verify() {
    if (options_.direction == Direction::device_to_host) {
      buffers_.verify(options_.direction, size_bytes(), nullptr);
      return;
    }
    driver_.call(symbol::memcpy_dtoh)(image_.data(), pitched_.pointer(), image_.size());
    std::size_t num_wrong = 0;
    for (std::size_t row = 0; row < options_.num_rows; ++row)
      num_wrong += std::memcmp(in_image(row), in_host(row), options_.row_bytes) != 0 ||
                   !gap_is_untouched(row);
    if (num_wrong == 0) return;
    throw CorruptTransfer("verification failed: " + std::to_string(num_wrong) + " of " +
                          std::to_string(options_.num_rows) + " rows of a 2-D copy from host to " +
                          "device are not what was sent");
  }

private:
  std::byte* in_image(std::size_t row) {
    return image_.data() + row * pitch_of(options_.row_bytes);
  }
  const std::byte* in_host(std::size_t row) const {
    return buffers_.host() + row * options_.row_bytes;
  }
  bool gap_is_untouched(std::size_t row) {
    const std::byte* gap = in_image(row) + options_.row_bytes;
    for (std::size_t i = 0; i < pitch_of(options_.row_bytes) - options_.row_bytes; ++i)
      if (gap[i] != std::byte{kPoison}) return false;
    return true;
  }

  CopyBuffers& buffers_;
  Driver driver_;
  PitchedCopiesOptions options_;
  DeviceBuffer pitched_;
  std::vector<std::byte> image_;  ///< the device's rows, gaps included
};

/// Copies between two events, behind a gate.
class BlockedRows {
public:
  BlockedRows(const Rows& rows, const Context& context, const Kernels* kernels,
              const PitchedCopiesOptions& options)
      : rows_(rows),
        stream_(context),
        first_(context),
        last_(context),
        gate_(context, kernels, options.gate_timeout) {}

  double first_call() {
    const auto begin = Clock::now();
    rows_.enqueue(stream_.handle());
    stream_.synchronize();
    const double seconds = seconds_since(begin);
    num_copies_ = std::min<std::size_t>(4, repetitions_for(seconds));
    one_sample();  // voided: lazy loading
    num_copies_ = repetitions_for(one_sample());
    return seconds;
  }

  std::size_t num_copies() const { return num_copies_; }

  double one_sample() {
    gate_.hold(stream_.handle());
    for (std::size_t i = 0; i < kWarmUpRepetitions; ++i) rows_.enqueue(stream_.handle());
    first_.record(stream_.handle());
    for (std::size_t i = 0; i < num_copies_; ++i) rows_.enqueue(stream_.handle());
    last_.record(stream_.handle());
    gate_.release();
    last_.synchronize();
    return elapsed_seconds(stream_.context(), first_, last_) / static_cast<double>(num_copies_);
  }

private:
  const Rows& rows_;
  Stream stream_;
  Event first_;
  Event last_;
  Gate gate_;
  std::size_t num_copies_ = 1;
};

}  // namespace

Measurement measure_pitched_copies(CopyBuffers& buffers, const Kernels* kernels,
                                   const PitchedCopiesOptions& options) {
  check(buffers, options);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  Rows rows(buffers, options);
  rows.poison();
  BlockedRows loop(rows, buffers.context(), kernels, options);
  Measurement measurement;
  measurement.first_call_seconds = loop.first_call();
  buffers.prepare(kernels);
  rows.poison();
  Samples samples =
      sample(options.stopping, "copy_time", loop.num_copies(), [&] { return loop.one_sample(); });
  if (options.stopping.verify) rows.verify();
  measurement.verified_on = options.stopping.verify ? VerifiedOn::host : VerifiedOn::nobody;
  measurement.samples.push_back(std::move(samples));
  return measurement;
}

}  // namespace isthmus::measure

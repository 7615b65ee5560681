#include "measure/copy_paths.hpp"

#include <algorithm>

#include "measure/verified_sampling.hpp"

namespace isthmus::measure {
namespace {

/// Reading the clock twice costs some 40 ns: half a percent of this.
constexpr double kLeastSampleSeconds = 8e-6;
constexpr double kMostBackToBack = 64;

class PathCopy {
public:
  PathCopy(Transfers& transfers, const CopyBuffers& buffers, const CopyPathOptions& options)
      : transfers_(transfers), size_bytes_(options.size_bytes) {
    // A device address is a number to the driver and a pointer to copy().
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* const device = reinterpret_cast<void*>(buffers.device());
    const bool up = options.direction == Direction::host_to_device;
    target_ = up ? device : buffers.host();
    source_ = up ? buffers.host() : device;
    options_.path = name_of(options.path);
  }

  double seconds_of(std::size_t num_copies) const {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < num_copies; ++i)
      transfers_.copy(target_, source_, size_bytes_, options_);
    return seconds_since(start) / static_cast<double>(num_copies);
  }

private:
  Transfers& transfers_;
  std::size_t size_bytes_;
  void* target_ = nullptr;
  const void* source_ = nullptr;
  CopyOptions options_;
};

std::size_t copies_per_sample(double seconds_of_one) {
  return static_cast<std::size_t>(
      std::clamp(kLeastSampleSeconds / seconds_of_one, 1.0, kMostBackToBack));
}

}  // namespace

Measurement measure_copy_path(Transfers& transfers, CopyBuffers& buffers,
                              const CopyPathOptions& options) {
  buffers.check_size(options.size_bytes);
  buffers.prepare(nullptr);
  const PathCopy copy(transfers, buffers, options);
  Measurement measurement;
  measurement.first_call_seconds = copy.seconds_of(1);
  const std::size_t num_copies = copies_per_sample(copy.seconds_of(1));
  VerifiedSampling sampling(buffers, nullptr, options.direction, options.size_bytes,
                            options.stopping);
  sampling.add(measurement, "completion", num_copies, [&] { return copy.seconds_of(num_copies); });
  return measurement;
}

}  // namespace isthmus::measure

#include "measure/window/window_loops.hpp"

#include <algorithm>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kSampleBytes = std::size_t{16} << 20U;
constexpr std::size_t kMaxCopies = 64;
constexpr std::size_t kWarmUps = 5;

/// Runs the calling thread on other CPUs while it lives, even on those outside its binding.
class ScopedCpus {
public:
  explicit ScopedCpus(const std::vector<int>& cpus) {
    if (cpus.empty()) return;
    std::vector<int> before = host::allowed_cpus();
    if (before.empty() || !host::allow_cpus(cpus)) {
      throw Unavailable("threads on chosen CPUs", "the kernel refused", "sched_setaffinity");
    }
    previous_ = std::move(before);
  }
  ~ScopedCpus() {
    if (!previous_.empty()) host::allow_cpus(previous_);
  }
  ScopedCpus(const ScopedCpus&) = delete;
  ScopedCpus& operator=(const ScopedCpus&) = delete;

private:
  std::vector<int> previous_;
};

class BandwidthLoop {
public:
  BandwidthLoop(const Context& context, Windows& windows, const WindowBandwidthOptions& options)
      : options_(options),
        target_(options.size_bytes, false, options.place.numa_node),
        buffers_(context, windows, options.size_bytes, options.place) {}

  Measurement run() {
    Measurement measurement;
    measurement.first_call_seconds = seconds_of(1);
    seconds_of(kWarmUps);
    poison();
    const std::size_t num_copies =
        std::clamp(kSampleBytes / options_.size_bytes, std::size_t{1}, kMaxCopies);
    Samples samples =
        sample(options_.stopping, "copy_time", num_copies, [&] { return seconds_of(num_copies); });
    verify();
    measurement.samples.push_back(std::move(samples));
    return measurement;
  }

private:
  bool writes() const { return options_.direction == Direction::host_to_device; }

  double seconds_of(std::size_t num_copies) {
    Window& window = buffers_.window();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < num_copies; ++i) {
      if (writes()) {
        window.write(0, buffers_.reference(), options_.size_bytes);
      } else {
        window.read(target_[0], 0, options_.size_bytes);
      }
    }
    return seconds_since(start) / static_cast<double>(num_copies);
  }

  void poison() {
    target_.fill(kWindowPoison);
    if (writes()) buffers_.poison_device();
  }

  void verify() {
    if (writes()) {
      buffers_.check_device(0, buffers_.reference(), options_.size_bytes);
    } else {
      buffers_.check_host(target_[0], options_.size_bytes);
    }
  }

  WindowBandwidthOptions options_;
  HostRegions target_;
  WindowBuffers buffers_;
};

}  // namespace

Measurement measure_window_bandwidth(const Context& context,
                                     const WindowBandwidthOptions& options) {
  const CurrentContext current(context);
  const ScopedCpus cpus(options.cpus);
  Windows windows(context.driver());
  return BandwidthLoop(context, windows, options).run();
}

}  // namespace isthmus::measure

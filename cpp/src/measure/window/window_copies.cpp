#include "host/memory/pages.hpp"
#include "measure/window/window_loops.hpp"

#include <algorithm>
#include <vector>

#include <isthmus/errors.hpp>

#include "host/cpu/copy_instructions.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kPostedBytes = std::size_t{64}
                                     << 10U;  // 1024 lines: far more than a core has
                                              // buffers for, so that it has to wait
constexpr std::size_t kWriteSampleBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxWrites = 100;
constexpr std::size_t kReadSampleBytes = std::size_t{16} << 10U;
constexpr std::size_t kMaxReads = 16;
constexpr std::size_t kWarmUps = 5;

/// How often a sample repeats a loop over its regions: a long sample hides the clock's cost.
std::size_t repeats_for(std::size_t sample_bytes, std::size_t size_bytes, std::size_t most) {
  return std::clamp(sample_bytes / size_bytes, std::size_t{1}, most);
}

template <typename OneCopy>
double seconds_of(std::size_t num_copies, OneCopy copy) {
  const auto start = Clock::now();
  for (std::size_t i = 0; i < num_copies; ++i) copy(i);
  return seconds_since(start) / static_cast<double>(num_copies);
}

/// Copies each region `repeats` times; warm, there is one region.
template <typename OneCopy>
double seconds_of_regions(const HostRegions& regions, std::size_t repeats, OneCopy copy) {
  const auto start = Clock::now();
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    for (std::size_t i = 0; i < regions.count(); ++i) copy(regions[i]);
  }
  return seconds_since(start) / static_cast<double>(repeats * regions.count());
}

std::size_t checked(std::size_t size_bytes) {
  if (size_bytes == 0) throw UsageError("a copy through a window needs at least 1 byte");
  return size_bytes;
}

/// Copies in one direction, through the window and, for comparison, with cudaMemcpy.
class WindowLoop {
public:
  WindowLoop(const Context& context, Windows& windows, const WindowCopyOptions& options)
      : options_(options),
        size_bytes_(checked(options.size_bytes)),
        driver_(context.driver()),
        buffers_(context, windows, std::max(size_bytes_, kPostedBytes), options.place),
        regions_(size_bytes_, options.cold, options.place.numa_node) {}

protected:
  /// A blocking copy, including the wait for bytes that it may have left in flight.
  template <typename Call>
  double seconds_of_memcpy(const std::byte* host, Call call) const {
    if (options_.cold) host::evict_from_caches(host, size_bytes_);
    const auto start = Clock::now();
    call();
    driver_.call(symbol::stream_synchronize)(nullptr);
    return seconds_since(start);
  }

  std::size_t repeats(std::size_t sample_bytes, std::size_t most) const {
    return options_.cold ? 1 : repeats_for(sample_bytes, size_bytes_, most);
  }
  bool compares() const { return options_.place.num_threads <= 1; }

  WindowCopyOptions options_;
  std::size_t size_bytes_;
  Driver driver_;
  WindowBuffers buffers_;
  HostRegions regions_;
  Measurement measurement_;
};

class WriteLoop : WindowLoop {
public:
  WriteLoop(const Context& context, Windows& windows, const WindowCopyOptions& options)
      : WindowLoop(context, windows, options) {
    regions_.fill(buffers_.reference());
  }

  Measurement run() {
    const auto write = [this](const std::byte* source) {
      buffers_.window().write(0, source, size_bytes_);
    };
    measurement_.first_call_seconds = seconds_of(1, [&](std::size_t) { write(regions_[0]); });
    seconds_of(kWarmUps, [&](std::size_t) { write(regions_[0]); });
    const std::size_t num_repeats = repeats(kWriteSampleBytes, kMaxWrites);
    add("fenced", num_repeats * regions_.count(), [&] {
      regions_.make_ready();
      return seconds_of_regions(regions_, num_repeats, write);
    });
    if (compares() && !options_.cold) add_posted();
    if (compares()) {
      add_memcpy("memcpy_pinned", buffers_.pinned());
      add_memcpy("memcpy_pageable", regions_[0]);
    }
    return std::move(measurement_);
  }

private:
  template <typename OneSample>
  void add(const char* metric, std::size_t copies_per_sample, OneSample one) {
    buffers_.poison_device();
    Samples samples = sample(options_.stopping, metric, copies_per_sample, one);
    buffers_.check_device(0, buffers_.reference(), size_bytes_);
    measurement_.samples.push_back(std::move(samples));
  }

  void add_posted() {
    const std::size_t stride = host::round_up(size_bytes_, host::kLineBytes);
    const std::size_t num_posts = std::max<std::size_t>(1, kPostedBytes / stride);
    Window& window = buffers_.window();
    buffers_.poison_device();
    Samples samples = sample(options_.stopping, "posted", num_posts, [&] {
      const double seconds = seconds_of(num_posts, [&](std::size_t i) {
        window.post(i * stride, buffers_.reference() + i * stride, size_bytes_);
      });
      Window::fence();
      return seconds;
    });
    check_posted(stride, num_posts);
    measurement_.samples.push_back(std::move(samples));
  }

  /// Checks that posted bytes have arrived, and bytes between them are unchanged.
  void check_posted(std::size_t stride, std::size_t num_posts) {
    std::vector<std::byte> expected(buffers_.size_bytes(), std::byte{kWindowPoison});
    for (std::size_t i = 0; i < num_posts; ++i) {
      std::copy_n(buffers_.reference() + i * stride, size_bytes_, expected.data() + i * stride);
    }
    buffers_.check_device(0, expected.data(), expected.size());
  }

  void add_memcpy(const char* metric, const std::byte* source) {
    add(metric, 1, [&, this] {
      return seconds_of_memcpy(source, [&, this] {
        driver_.call(symbol::memcpy_htod)(buffers_.device(), static_cast<const void*>(source),
                                          size_bytes_);
      });
    });
  }
};

class ReadLoop : WindowLoop {
public:
  using WindowLoop::WindowLoop;

  Measurement run() {
    const auto read = [this](std::byte* target) { buffers_.window().read(target, 0, size_bytes_); };
    measurement_.first_call_seconds = seconds_of(1, [&](std::size_t) { read(regions_[0]); });
    seconds_of(kWarmUps, [&](std::size_t) { read(regions_[0]); });
    const std::size_t num_repeats = repeats(kReadSampleBytes, kMaxReads);
    regions_.fill(kWindowPoison);
    Samples samples = sample(options_.stopping, "complete", num_repeats * regions_.count(), [&] {
      regions_.make_ready();
      return seconds_of_regions(regions_, num_repeats, read);
    });
    for (std::size_t i = 0; i < regions_.count(); ++i) {
      buffers_.check_host(regions_[i], size_bytes_);
    }
    measurement_.samples.push_back(std::move(samples));
    if (compares()) {
      add_memcpy("memcpy_pinned", buffers_.pinned());
      add_memcpy("memcpy_pageable", regions_[0]);
    }
    return std::move(measurement_);
  }

private:
  void add_memcpy(const char* metric, std::byte* target) {
    std::fill_n(target, size_bytes_, std::byte{kWindowPoison});
    Samples samples = sample(options_.stopping, metric, 1, [&, this] {
      return seconds_of_memcpy(target, [&, this] {
        driver_.call(symbol::memcpy_dtoh)(static_cast<void*>(target), buffers_.device(),
                                          size_bytes_);
      });
    });
    buffers_.check_host(target, size_bytes_);
    measurement_.samples.push_back(std::move(samples));
  }
};

}  // namespace

Measurement measure_window_write(const Context& context, Windows& windows,
                                 const WindowCopyOptions& options) {
  const CurrentContext current(context);
  return WriteLoop(context, windows, options).run();
}

Measurement measure_window_read(const Context& context, Windows& windows,
                                const WindowCopyOptions& options) {
  const CurrentContext current(context);
  return ReadLoop(context, windows, options).run();
}

}  // namespace isthmus::measure

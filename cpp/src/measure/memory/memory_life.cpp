#include "measure/memory/allocation_cost.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <isthmus/errors.hpp>

#include "host/cpu/topology.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0xA5;
constexpr std::size_t kReadBackBytes = std::size_t{16} << 20U;
/// A driver creates its staging memory at the first copies from ordinary memory.
constexpr std::size_t kMaxWarmUpBytes = std::size_t{1} << 20U;

/// The steps of one life, in seconds.
struct Life {
  double allocate = 0;
  double upload = 0;
  double download = 0;
  double free = 0;
};

template <typename Step>
double timed(Step step) {
  const auto start = Clock::now();
  step();
  return seconds_since(start);
}

class LifeLoop {
public:
  LifeLoop(const Context& context, const Kernels* kernels, const MemoryLifeOptions& options)
      : context_(context),
        options_(options),
        contents_(Contents::random),
        device_(context, options.size_bytes),
        stream_(context),
        kernels_(contents_.kernels_can_check(device_.pointer()) ? kernels : nullptr) {}

  Measurement run() {
    Measurement measurement;
    warm_up();
    std::vector<Life> lives;
    const auto one_life = [&] {
      lives.push_back(live(measurement));
      return lives.back().allocate + lives.back().upload + lives.back().free;
    };
    Samples one_way = sample(options_.stopping, "life_one_way", 1, one_life);
    add_steps(measurement, lives, one_way.stopped_by);
    measurement.samples.push_back(std::move(one_way));
    return measurement;
  }

private:
  void warm_up() {
    const std::size_t size_bytes = std::min(options_.size_bytes, kMaxWarmUpBytes);
    const HostBuffer host(context_, options_.memory, size_bytes, options_.numa_node);
    upload(host, size_bytes);
    download(host, size_bytes);
  }

  Life live(Measurement& measurement) {
    Life life;
    std::unique_ptr<HostBuffer> host;
    life.allocate = timed([&] {
      host = std::make_unique<HostBuffer>(context_, options_.memory, options_.size_bytes,
                                          options_.numa_node);
    });
    copy_up(*host, life, measurement);
    copy_down(*host, life);
    measurement.host_pages_by_node = host::pages_by_node(host->data(), options_.size_bytes);
    life.free = timed([&] { host.reset(); });
    return life;
  }

  void copy_up(const HostBuffer& host, Life& life, Measurement& measurement) {
    // As most programs do, and the published experiment.
    contents_.fill(host.data(), options_.size_bytes, host::FilledBy::one_thread);
    poison_device();
    const auto one = [&] { return timed([&] { upload(host, options_.size_bytes); }); };
    if (measurement.first_call_seconds == 0) measurement.first_call_seconds = one();
    life.upload = one();
    measurement.verified_on = verify_device();
  }

  void copy_down(const HostBuffer& host, Life& life) {
    std::memset(host.data(), kPoison, options_.size_bytes);
    life.download = timed([&] { download(host, options_.size_bytes); });
    if (!options_.stopping.verify) return;
    require_none(contents_.count_mismatches(host.data(), 0, options_.size_bytes), "device to host");
  }

  /// Complete when it returns: the driver's call may return earlier for a small pageable upload.
  void upload(const HostBuffer& host, std::size_t size_bytes) const {
    const Driver& driver = context_.driver();
    driver.call(symbol::memcpy_htod)(device_.pointer(), static_cast<const void*>(host.data()),
                                     size_bytes);
    driver.call(symbol::stream_synchronize)(nullptr);
  }
  void download(const HostBuffer& host, std::size_t size_bytes) const {
    const Driver& driver = context_.driver();
    driver.call(symbol::memcpy_dtoh)(static_cast<void*>(host.data()), device_.pointer(),
                                     size_bytes);
    driver.call(symbol::stream_synchronize)(nullptr);
  }

  void poison_device() const {
    context_.driver().call(symbol::memset_d8_async)(device_.pointer(),
                                                    static_cast<unsigned char>(kPoison),
                                                    options_.size_bytes, stream_.handle());
    stream_.synchronize();
  }

  VerifiedOn verify_device() const {
    if (!options_.stopping.verify) return VerifiedOn::nobody;
    const std::uint64_t wrong =
        kernels_ != nullptr
            ? contents_.count_by_kernel(*kernels_, stream_, device_.pointer(), options_.size_bytes)
            : read_back();
    require_none(wrong, "host to device");
    return kernels_ != nullptr ? VerifiedOn::device : VerifiedOn::host;
  }

  std::uint64_t read_back() const {
    std::vector<std::byte> chunk(std::min(options_.size_bytes, kReadBackBytes));
    std::uint64_t wrong = 0;
    for (std::size_t offset = 0; offset < options_.size_bytes; offset += chunk.size()) {
      const std::size_t chunk_bytes = std::min(chunk.size(), options_.size_bytes - offset);
      context_.driver().call(symbol::memcpy_dtoh)(static_cast<void*>(chunk.data()),
                                                  device_.pointer() + offset, chunk_bytes);
      wrong += contents_.count_mismatches(chunk.data(), offset, chunk_bytes);
    }
    return wrong;
  }

  void require_none(std::uint64_t wrong, const char* direction) const {
    if (wrong == 0) return;
    throw CorruptTransfer("verification failed: " + std::to_string(wrong) + " words of a " +
                          std::to_string(options_.size_bytes) + "-byte copy from " + direction +
                          " are not what was sent");
  }

  static void add_steps(Measurement& measurement, const std::vector<Life>& lives,
                        StoppedBy stopped_by) {
    Samples allocate{"allocate", {}, 1, stopped_by};
    Samples free{"free", {}, 1, stopped_by};
    Samples uploads{"life_upload", {}, 1, stopped_by};
    Samples downloads{"life_download", {}, 1, stopped_by};
    Samples both_ways{"life_both_ways", {}, 1, stopped_by};
    for (const Life& life : lives) {
      allocate.seconds.push_back(life.allocate);
      free.seconds.push_back(life.free);
      uploads.seconds.push_back(life.upload);
      downloads.seconds.push_back(life.download);
      both_ways.seconds.push_back(life.allocate + life.upload + life.download + life.free);
    }
    for (Samples* samples : {&allocate, &free, &uploads, &downloads, &both_ways})
      measurement.samples.push_back(std::move(*samples));
  }

  Context context_;
  const MemoryLifeOptions& options_;
  BufferContents contents_;
  DeviceBuffer device_;
  Stream stream_;
  const Kernels* kernels_;
};

void check(const MemoryLifeOptions& options) {
  if (options.memory == HostMemory::write_combined) {
    throw UsageError("a life of write-combined memory isn't measured: the CPU can't read it back");
  }
}

}  // namespace

Measurement measure_memory_life(const Context& context, const Kernels* kernels,
                                const MemoryLifeOptions& options) {
  check(options);
  const CurrentContext current(context);
  return LifeLoop(context, kernels, options).run();
}

}  // namespace isthmus::measure

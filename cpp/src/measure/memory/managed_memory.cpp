#include "measure/memory/managed_memory.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "host/memory/pages.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

bool has(const Context& context, CUdevice_attribute attribute) {
  CUdevice device = 0;
  int value = 0;
  context.driver().call(symbol::device_get)(&device, context.device().ordinal);
  context.driver().call(symbol::device_get_attribute)(&value, attribute, device);
  return value != 0;
}

void require_room(const Context& context, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes > kMaxManagedBytes) {
    throw UsageError("managed memory is measured with 1 to " + std::to_string(kMaxManagedBytes) +
                     " bytes, not " + std::to_string(size_bytes));
  }
  if (!has(context, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) {
    throw Unavailable("managed memory", "this device has none", "another device or system");
  }
  if (context.free_memory_bytes() <= size_bytes) {
    throw Unavailable("managed memory",
                      "the device has no " + std::to_string(size_bytes) + " bytes free",
                      "less memory in use on the device");
  }
}

Owned<CUdeviceptr> allocate(const Context& context, std::size_t size_bytes) {
  require_room(context, size_bytes);
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  CUdeviceptr pointer = 0;
  driver.call(symbol::mem_alloc_managed)(&pointer, size_bytes,
                                         static_cast<unsigned>(CU_MEM_ATTACH_GLOBAL));
  return {context, pointer, driver.raw(symbol::mem_free), symbol::mem_free.name};
}

}  // namespace

ManagedAllocation::ManagedAllocation(const Context& context, std::size_t size_bytes)
    : owned_(allocate(context, size_bytes)), size_bytes_(size_bytes) {}

CUmemLocation location_of(int device) noexcept {
  CUmemLocation found{};
  found.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  found.id = device == CU_DEVICE_CPU ? 0 : device;
  return found;
}

void require_concurrent_access(const Context& context) {
  if (has(context, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) return;
  throw Unavailable("faults, prefetches and advice for managed memory",
                    "CPU and device can't use it at the same time here",
                    "Linux without virtual GPUs, and a device from Pascal on");
}

namespace {

/// In which drivers allocate device memory.
constexpr std::size_t kBlockBytes = std::size_t{2} << 20U;
/// What a driver keeps back may be left besides.
constexpr double kMaxExcess = 1.1;

std::size_t whole_blocks(std::size_t bytes) { return bytes / kBlockBytes * kBlockBytes; }

}  // namespace

FilledDevice::FilledDevice(const Context& context, std::size_t free_bytes) {
  if (context.free_memory_bytes() < free_bytes) {
    throw Unavailable("device memory that is left free",
                      "the device has no " + std::to_string(free_bytes) + " bytes free",
                      "less memory in use on the device");
  }
  {
    // Managed memory also gets what a driver holds back and doesn't call free: on an H100 a process
    // had 64 MiB of it. So what is to stay free is held, and all else is filled until nothing fits.
    const DeviceBuffer held(context, std::max(whole_blocks(free_bytes), kBlockBytes));
    fill(context);
  }
  const std::size_t left = context.free_memory_bytes();
  const double most = kMaxExcess * static_cast<double>(free_bytes + kBlockBytes);
  if (static_cast<double>(left) > most) {
    throw Unavailable(
        "a device whose memory is in use",
        std::to_string(left) + " bytes stay free, and not " + std::to_string(free_bytes),
        "a device that no other program uses");
  }
}

void FilledDevice::fill(const Context& context) {
  std::size_t piece = whole_blocks(context.free_memory_bytes());
  while (piece > 0) {
    try {
      buffers_.emplace_back(context, piece);
    } catch (const OutOfDeviceMemory&) {
      // What is free needn't be allocatable at once.
      piece = whole_blocks(piece / 2);
    }
  }
}

namespace {

bool thrashes(ManagedWay way) {
  return way == ManagedWay::thrashing || way == ManagedWay::thrashing_random;
}

bool in_random_order(ManagedWay way) {
  return way == ManagedWay::demand_random || way == ManagedWay::thrashing_random;
}

/// One piece of managed memory, and the ways in which it moves.
class ManagedLoop {
public:
  ManagedLoop(const Context& context, const Kernels& kernels, const ManagedOptions& options)
      : context_(context),
        kernels_(kernels),
        options_(options),
        memory_(context, options.size_bytes),
        verdict_(context, sizeof(std::uint64_t)),
        stream_(context) {
    if (options.way == ManagedWay::advised) advise();
    if (thrashes(options.way)) rest_.emplace(context, options.size_bytes / 2);
  }

  /// Writes new bytes on one side, times until the other side has them, and compares them.
  double crossing() {
    const BufferContents contents(Contents::random);
    write(contents);
    if (thrashes(options_.way)) timed(contents);
    const double seconds = timed(contents);
    check(contents);
    return seconds;
  }

private:
  CUdeviceptr device() const { return memory_.device(); }
  std::byte* host() const { return memory_.host(); }
  bool to_device() const { return options_.direction == Direction::host_to_device; }
  int target() const { return to_device() ? context_.device().ordinal : CU_DEVICE_CPU; }

  void advise() {
    const auto advise = context_.driver().call(symbol::mem_advise);
    advise(device(), options_.size_bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
           location_of(CU_DEVICE_CPU));
    advise(device(), options_.size_bytes, CU_MEM_ADVISE_SET_ACCESSED_BY,
           location_of(context_.device().ordinal));
  }

  void write(const BufferContents& contents) {
    // For pages that stay on the host, the kernel's writes take the time.
    if (options_.way == ManagedWay::advised && !to_device()) return;
    if (to_device()) {
      contents.fill(host(), options_.size_bytes);
    } else {
      contents.fill_by_kernel(kernels_, stream_, device(), options_.size_bytes);
      stream_.synchronize();
    }
  }

  double timed(const BufferContents& contents) {
    if (options_.way == ManagedWay::prefetched) return timed_prefetch();
    if (to_device()) return timed_read_by_kernel(contents);
    if (options_.way == ManagedWay::demand) return timed_touch();
    const auto start = Clock::now();
    contents.fill_by_kernel(kernels_, stream_, device(), options_.size_bytes);
    stream_.synchronize();
    return seconds_since(start);
  }

  double timed_prefetch() {
    const auto start = Clock::now();
    context_.driver().call(symbol::mem_prefetch_async)(device(), options_.size_bytes,
                                                       location_of(target()), 0U, stream_.handle());
    stream_.synchronize();
    const double seconds = seconds_since(start);
    int place = CU_DEVICE_INVALID;
    context_.driver().call(symbol::mem_range_get_attribute)(
        static_cast<void*>(&place), sizeof place, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
        device(), options_.size_bytes);
    if (place != target()) {
      throw CorruptTransfer(
          "verification failed: managed memory was not prefetched to where it "
          "was to go");
    }
    return seconds;
  }

  double timed_read_by_kernel(const BufferContents& contents) {
    clear_verdict();
    const auto start = Clock::now();
    const ReadOrder order =
        in_random_order(options_.way) ? ReadOrder::random_pages : ReadOrder::forward;
    contents.check_by_kernel(kernels_, stream_, device(), options_.size_bytes, verdict_.pointer(),
                             order);
    stream_.synchronize();
    return seconds_since(start);
  }

  double timed_touch() {
    const volatile std::byte* const bytes = host();
    const auto start = Clock::now();
    for (std::size_t offset = 0; offset < options_.size_bytes; offset += host::kSmallPageBytes) {
      (void)bytes[offset];
    }
    return seconds_since(start);
  }

  void clear_verdict() {
    context_.driver().call(symbol::memset_d8_async)(
        verdict_.pointer(), static_cast<unsigned char>(0), verdict_.size_bytes(), stream_.handle());
    stream_.synchronize();
  }

  std::uint64_t count_on_device(const BufferContents& contents) {
    // A kernel that reads everything has counted mismatches meanwhile.
    if (options_.way == ManagedWay::prefetched) {
      return contents.count_by_kernel(kernels_, stream_, device(), options_.size_bytes);
    }
    std::uint64_t verdict = 0;
    context_.driver().call(symbol::memcpy_dtoh)(&verdict, verdict_.pointer(), sizeof verdict);
    return BufferContents::mismatches_of(verdict);
  }

  void check(const BufferContents& contents) {
    const std::uint64_t mismatches =
        to_device() ? count_on_device(contents)
                    : contents.count_mismatches(host(), 0, options_.size_bytes);
    if (mismatches == 0) return;
    throw CorruptTransfer("verification failed: " + std::to_string(options_.size_bytes) +
                          " bytes of managed memory are not what the other side wrote");
  }

  Context context_;
  const Kernels& kernels_;
  ManagedOptions options_;
  ManagedAllocation memory_;
  DeviceBuffer verdict_;  ///< of the timed kernel
  Stream stream_;
  std::optional<FilledDevice> rest_;  ///< of the device's memory
};

void require_sense(const ManagedOptions& options) {
  const bool by_kernels = in_random_order(options.way) || thrashes(options.way);
  if (by_kernels && options.direction != Direction::host_to_device) {
    throw UsageError(
        "managed memory is read in a random order, or again and again, by kernels only, so only to "
        "the device");
  }
  if (thrashes(options.way) && options.size_bytes < kMinThrashingBytes) {
    throw UsageError("managed memory for half of which there is room has " +
                     std::to_string(kMinThrashingBytes) + " bytes or more, not " +
                     std::to_string(options.size_bytes));
  }
}

}  // namespace

Measurement measure_managed(const Context& context, const Kernels* kernels,
                            const ManagedOptions& options) {
  if (options.way != ManagedWay::demand) require_concurrent_access(context);
  if (kernels == nullptr) {
    throw Unavailable("kernel that reads managed memory", "there is no NVRTC to compile it",
                      "NVRTC");
  }
  require_sense(options);
  const CurrentContext current(context);
  ManagedLoop loop(context, *kernels, options);
  Measurement measurement;
  measurement.verified_on =
      options.direction == Direction::host_to_device ? VerifiedOn::device : VerifiedOn::host;
  measurement.first_call_seconds = loop.crossing();
  measurement.samples.push_back(
      sample(options.stopping, "copy_time", 1, [&] { return loop.crossing(); }));
  return measurement;
}

}  // namespace isthmus::measure

#include "measure/latency/latency.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/flags.hpp"
#include "measure/window/window_buffers.hpp"

namespace isthmus::measure {
namespace {

constexpr std::size_t kWarmUpRounds = 10;
constexpr unsigned kBlockLanes = 512;
constexpr std::size_t kBlockBytes = 4096;  // one word a thread
// Enough threads to saturate the link at 1 MiB and more, and few enough to be resident together on
// any device.
constexpr unsigned kMaxBlocks = 32;

/// The kernels' common arguments, and the flag that says that the bytes have arrived.
class Push {
public:
  Push(const CopyBuffers& buffers, const KernelPushOptions& options)
      : context_(buffers.context()),
        source_(buffers.device()),
        size_bytes_(options.size_bytes),
        timeout_(options.answer_timeout),
        answer_(context_, kFlagBytes),
        counter_(context_, kFlagBytes),
        host_address_(host_address(buffers)),
        stream_(context_) {
    flag().store(0);
    clear(counter_.pointer());
  }

  Flag flag() const { return flag_at(answer_.data()); }
  CUstream stream() const { return stream_.handle(); }
  unsigned num_blocks() const {
    const auto wanted = static_cast<unsigned>(
        std::min<std::size_t>(kMaxBlocks, (size_bytes_ + kBlockBytes - 1) / kBlockBytes));
    return std::clamp(wanted, 1U,
                      static_cast<unsigned>(std::max(1, context_.device().num_multiprocessors)));
  }
  void clear(CUdeviceptr word) const {
    context_.driver().call(symbol::memset_d32_async)(word, 0U, std::size_t{1}, stream());
    stream_.synchronize();
  }
  void await_flag(std::uint32_t round) const {
    await(flag(), round, timeout_, "a kernel's last byte");
  }

  void launch_once(const Kernel& kernel, std::uint32_t round) const {
    kernel.launch(stream(), num_blocks(), kBlockLanes, source_, host_address_, size(),
                  counter_.pointer(), answer_.device_pointer(), round);
  }
  void launch_waiting(const Kernel& kernel, CUdeviceptr question, std::uint32_t num_rounds) const {
    kernel.launch(stream(), num_blocks(), kBlockLanes, question, source_, host_address_, size(),
                  counter_.pointer(), answer_.device_pointer(), num_rounds,
                  static_cast<unsigned long long>(timeout_.count() * 1e9));
  }

private:
  static CUdeviceptr host_address(const CopyBuffers& buffers) {
    CUdeviceptr address = 0;
    buffers.context().driver().call(symbol::mem_host_get_device_pointer)(
        &address, static_cast<void*>(buffers.host()), 0U);
    return address;
  }
  unsigned long long size() const { return size_bytes_; }

  Context context_;
  CUdeviceptr source_;
  std::size_t size_bytes_;
  std::chrono::duration<double> timeout_;
  PinnedBuffer answer_;
  DeviceBuffer counter_;
  CUdeviceptr host_address_;
  Stream stream_;
};

/// A kernel that waits for requests in device memory, until this object is destroyed.
class WaitingPush {
public:
  WaitingPush(const Push& push, const Context& context, Windows& windows, const Kernel& kernel,
              std::uint32_t num_rounds)
      : driver_(context.driver()),
        push_(push),
        question_(context, kOwnPieceBytes),
        window_(windows.open(question_.pointer(), kFlagBytes)) {
    push.clear(question_.pointer());
    push.launch_waiting(kernel, question_.pointer(), num_rounds);
  }
  ~WaitingPush() {
    ask(kNoMoreQuestions);
    driver_.raw(symbol::stream_synchronize)(push_.stream());
  }
  WaitingPush(const WaitingPush&) = delete;
  WaitingPush& operator=(const WaitingPush&) = delete;

  void ask(std::uint32_t round) { window_.write(0, &round, sizeof round); }

private:
  Driver driver_;
  const Push& push_;
  DeviceBuffer question_;
  Window window_;
};

void sample_launched(const CopyBuffers& buffers, const Kernels& kernels,
                     const KernelPushOptions& options, VerifiedSampling& sampling,
                     Measurement& measurement) {
  const Push push(buffers, options);
  const Kernel kernel = kernels.get("push", "isthmus_push");
  std::uint32_t round = 0;
  const auto one_push = [&] {
    const auto start = Clock::now();
    push.launch_once(kernel, ++round);
    push.await_flag(round);
    return seconds_since(start);
  };
  measurement.first_call_seconds = one_push();
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one_push();
  sampling.add(measurement, "launched", 1, one_push);
}

void sample_asked(const CopyBuffers& buffers, Windows& windows, const Kernels& kernels,
                  const KernelPushOptions& options, VerifiedSampling& sampling,
                  Measurement& measurement) {
  const Push push(buffers, options);
  const auto num_rounds = static_cast<std::uint32_t>(options.stopping.max_samples + kWarmUpRounds);
  WaitingPush waiting(push, buffers.context(), windows, kernels.get("push", "isthmus_push_asked"),
                      num_rounds);
  std::uint32_t round = 0;
  const auto one_push = [&] {
    const auto start = Clock::now();
    waiting.ask(++round);
    push.await_flag(round);
    return seconds_since(start);
  };
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one_push();
  sampling.add(measurement, "asked", 1, one_push);
}

}  // namespace

Measurement measure_kernel_push(const Context& context, Windows& windows, const Kernels* kernels,
                                const KernelPushOptions& options) {
  if (kernels == nullptr) {
    throw Unavailable("running kernel", "there is no NVRTC to compile it", "NVRTC");
  }
  CopyBuffers buffers(context, HostMemory::pinned, options.size_bytes, std::nullopt);
  buffers.prepare(kernels);
  const CurrentContext current(context);
  VerifiedSampling sampling(buffers, kernels, Direction::device_to_host, options.size_bytes,
                            options.stopping);
  Measurement measurement;
  sample_launched(buffers, *kernels, options, sampling, measurement);
  try {
    sample_asked(buffers, windows, *kernels, options, sampling, measurement);
  } catch (const Unavailable& absence) {
    measurement.waived["asked"] = absence.what();
  }
  return measurement;
}

}  // namespace isthmus::measure

#include "measure/latency/visibility.hpp"

#include <algorithm>

#include "host/cpu/copy_instructions.hpp"
#include "measure/loops/flags.hpp"

namespace isthmus::measure {
namespace {

constexpr const char* kMetric = "visible";
constexpr std::size_t kWarmUpRounds = 10;

/// The flag is the last aligned word of the copy.
std::size_t flag_offset(std::size_t size_bytes) {
  return size_bytes / kFlagBytes * kFlagBytes - kFlagBytes;
}

std::string reason_to_waive(const CopyBuffers& buffers, const Kernels* kernels,
                            const LatencyOptions& options) {
  if (options.size_bytes < kFlagBytes) return "needs a copy of at least 4 bytes to carry the flag";
  if (options.direction == Direction::host_to_device) {
    return kernels != nullptr ? "" : "needs a running kernel, and there is no NVRTC to compile one";
  }
  if (traits_of(options.method, options.direction, buffers.host_memory()).over_on_return)
    return "the call returns with the bytes visible: see completion";
  return buffers.host_memory() != HostMemory::pageable
             ? ""
             : "an async copy to pageable memory returns with the bytes visible: see completion";
}

void make_ready(const CopyBuffers& buffers, const LatencyOptions& options) {
  if (options.cold) host::evict_from_caches(buffers.host(), options.size_bytes);
}

/// A kernel that polls a flag in device memory and answers in pinned memory, until this is
/// destroyed.
class EchoKernel {
public:
  EchoKernel(const Context& context, const Kernels& kernels, CUdeviceptr question,
             unsigned num_rounds, std::chrono::duration<double> timeout)
      : driver_(context.driver()),
        question_(question),
        answer_(context, kFlagBytes),
        stream_(context),
        stop_(context) {
    answer().store(0);
    // A memset clears the flag at the start and stops the kernel at the end. By then the memset is
    // loaded: loading it while a kernel spins could wait for that kernel.
    driver_.call(symbol::memset_d32_async)(question_, 0U, std::size_t{1}, stream_.handle());
    stream_.synchronize();  // else a copy on another stream could come before the memset
    kernels.get("echo", "isthmus_echo")
        .launch(stream_.handle(), 1, 1, question_, answer_.device_pointer(), num_rounds,
                static_cast<unsigned long long>(timeout.count() * 1e9));
  }
  ~EchoKernel() {
    driver_.raw(symbol::memset_d32_async)(question_, kNoMoreQuestions, 1, stop_.handle());
    driver_.raw(symbol::stream_synchronize)(stream_.handle());
  }
  EchoKernel(const EchoKernel&) = delete;
  EchoKernel& operator=(const EchoKernel&) = delete;

  Flag answer() const { return flag_at(answer_.data()); }

private:
  Driver driver_;
  CUdeviceptr question_;
  PinnedBuffer answer_;
  Stream stream_;
  Stream stop_;
};

/// Host to device: the CPU copies numbers 1, 2, ... and waits for the kernel to return each.
Samples sample_question_and_answer(CopyBuffers& buffers, const Kernels& kernels, SmallCopy& copy,
                                   const LatencyOptions& options) {
  const Context& context = buffers.context();
  const std::size_t offset = flag_offset(options.size_bytes);
  const Flag question = flag_at(buffers.host() + offset);
  const auto num_rounds = static_cast<unsigned>(options.stopping.max_samples + kWarmUpRounds);
  const EchoKernel echo(context, kernels, buffers.device() + offset, num_rounds,
                        options.answer_timeout);
  const Flag answer = echo.answer();
  std::uint32_t round = 0;
  const auto one_round = [&] {
    question.store(++round);
    make_ready(buffers, options);
    const auto start = Clock::now();
    copy.call();
    await(answer, round, options.answer_timeout, "a kernel's answer");
    return seconds_since(start);
  };
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one_round();
  return sample(options.stopping, kMetric, 1, one_round);
}

/// Device to host: the CPU polls the target of an async copy.
Samples sample_polled_target(CopyBuffers& buffers, SmallCopy& copy, const LatencyOptions& options) {
  const Context& context = buffers.context();
  const Stream stream(context);
  const std::size_t offset = flag_offset(options.size_bytes);
  const Flag seen = flag_at(buffers.host() + offset);
  std::uint32_t round = 0;
  const auto one_round = [&] {
    context.driver().call(symbol::memset_d32_async)(buffers.device() + offset, ++round,
                                                    std::size_t{1}, stream.handle());
    stream.synchronize();
    make_ready(buffers, options);
    const auto start = Clock::now();
    copy.call();
    await(seen, round, options.answer_timeout, "a copied value");
    const double seconds = seconds_since(start);
    copy.wait();
    return seconds;
  };
  for (std::size_t i = 0; i < kWarmUpRounds; ++i) one_round();
  return sample(options.stopping, kMetric, 1, one_round);
}

}  // namespace

void measure_visibility(CopyBuffers& buffers, const Kernels* kernels, SmallCopy& copy,
                        const LatencyOptions& options, Measurement& measurement) {
  const std::string reason = reason_to_waive(buffers, kernels, options);
  if (!reason.empty()) {
    measurement.waived[kMetric] = reason;
    return;
  }
  buffers.disturb();
  measurement.samples.push_back(options.direction == Direction::host_to_device
                                    ? sample_question_and_answer(buffers, *kernels, copy, options)
                                    : sample_polled_target(buffers, copy, options));
}

}  // namespace isthmus::measure

#include "measure/loops/gate.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <isthmus/errors.hpp>

#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

std::atomic_ref<std::uint32_t> flag_of(const PinnedBuffer& buffer) {
  return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(buffer.data()));
}

/// Waits on a stream of its own for a value that is already there. The symbol's presence isn't
/// enough: by cuda.h the device may refuse with CUDA_ERROR_NOT_SUPPORTED.
bool streams_can_wait(const Context& context, const PinnedBuffer& flag) {
  const Driver& driver = context.driver();
  if (!driver.has(symbol::stream_wait_value32)) return false;
  flag_of(flag).store(0);
  const CUdeviceptr address = flag.device_pointer();
  const CurrentContext current(context);
  const Stream stream(context);
  const CUresult result = driver.raw(symbol::stream_wait_value32)(stream.handle(), address, 0U,
                                                                  CU_STREAM_WAIT_VALUE_GEQ);
  if (result == CUDA_ERROR_NOT_SUPPORTED) return false;
  driver.check(result, symbol::stream_wait_value32.name);
  stream.synchronize();
  return true;
}

std::optional<Kernel> gate_kernel(const Context& context, const Kernels* kernels,
                                  const PinnedBuffer& flag) {
  if (streams_can_wait(context, flag)) return std::nullopt;
  if (kernels == nullptr) {
    throw Unavailable("gate in a stream",
                      "this device has no stream memory operations and there are no kernels",
                      "cuStreamWaitValue32, or NVRTC");
  }
  return kernels->get("gate", "isthmus_gate");
}

}  // namespace

Gate::Gate(const Context& context, const Kernels* kernels, std::chrono::duration<double> timeout)
    : context_(context),
      timeout_(timeout),
      flag_(context, sizeof(std::uint32_t)),
      flag_on_device_(flag_.device_pointer()),
      kernel_(gate_kernel(context, kernels, flag_)) {
  if (!(timeout.count() > 0)) throw UsageError("gate timeout must be more than 0 seconds");
  flag_of(flag_).store(0);
  watchdog_ = std::thread(&Gate::watch, this);
}

Gate::~Gate() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    open();  // an exception may have left the gate held: release everything behind it
  }
  changed_.notify_all();
  watchdog_.join();
}

void Gate::hold(CUstream stream) {
  {
    const std::scoped_lock lock(mutex_);
    ++round_;
    timed_out_ = false;
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout_);
  }
  changed_.notify_all();
  enqueue_wait(stream);
}

void Gate::enqueue_wait(CUstream stream) {
  if (!kernel_) {
    context_.driver().call(symbol::stream_wait_value32)(
        stream, flag_on_device_, round_, static_cast<unsigned>(CU_STREAM_WAIT_VALUE_GEQ));
    return;
  }
  // The kernel has its own deadline, after the watchdog's: even if this process dies, the GPU
  // doesn't hang.
  const auto timeout_ns = static_cast<unsigned long long>(timeout_.count() * 2e9);
  kernel_->launch(stream, 1, 1, flag_on_device_, round_, timeout_ns);
}

void Gate::open() noexcept { flag_of(flag_).store(round_, std::memory_order_release); }

void Gate::release() {
  const std::scoped_lock lock(mutex_);
  deadline_.reset();
  open();
  if (timed_out_) {
    throw TimedOut("a stream was held for more than " + std::to_string(timeout_.count()) +
                   " s before all its work was enqueued; it was released and the sample is void");
  }
}

void Gate::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!deadline_) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, *deadline_) == std::cv_status::timeout && deadline_ &&
               std::chrono::steady_clock::now() >= *deadline_) {
      timed_out_ = true;
      deadline_.reset();
      open();
    }
  }
}

CommonStart::CommonStart(const Context& context, const Kernels* kernels, std::size_t num_streams,
                         std::chrono::duration<double> timeout)
    : context_(context),
      opened_(context),
      start_(context),
      gate_(std::make_unique<Gate>(context, kernels, timeout)) {
  if (num_streams == 0) throw UsageError("a common start needs at least 1 stream, got 0");
  for (std::size_t i = 0; i < num_streams; ++i) {
    streams_.emplace_back(context);
    ready_.emplace_back(context, Event::Timing::disabled);
    ends_.emplace_back(context);
  }
}

CommonStart::~CommonStart() {
  gate_.reset();
  const Driver& driver = context_.driver();
  const CUresult pushed = driver.raw(symbol::ctx_push_current)(context_.handle());
  for (const Stream& stream : streams_) driver.raw(symbol::stream_synchronize)(stream.handle());
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
}

void CommonStart::hold() {
  gate_->hold(streams_[0].handle());
  opened_.record(streams_[0].handle());
  for (std::size_t i = 1; i < streams_.size(); ++i) streams_[i].wait(opened_);
}

void CommonStart::mark_start() {
  for (std::size_t i = 1; i < streams_.size(); ++i) {
    ready_[i].record(streams_[i].handle());
    streams_[0].wait(ready_[i]);
  }
  start_.record(streams_[0].handle());
  for (std::size_t i = 1; i < streams_.size(); ++i) streams_[i].wait(start_);
}

void CommonStart::mark_end() {
  for (std::size_t i = 0; i < streams_.size(); ++i) ends_[i].record(streams_[i].handle());
}

void CommonStart::wait() const {
  for (const Event& end : ends_) end.synchronize();
}

double CommonStart::seconds(std::size_t index) const {
  return elapsed_seconds(context_, start_, ends_[index]);
}

double CommonStart::seconds_with_warm_ups(std::size_t index) const {
  return elapsed_seconds(context_, opened_, ends_[index]);
}

double CommonStart::makespan_seconds() const {
  double longest = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) longest = std::max(longest, seconds(i));
  return longest;
}

namespace {

// Half of the ~1000 operations that a held stream can queue: further ones would block.
constexpr std::size_t kMaxLaunches = 512;

}  // namespace

GateLoop::GateLoop(const Context& context, const Kernels* kernels, std::vector<Enqueue> copies,
                   const GateLoopOptions& options)
    : context_(context),
      copies_(std::move(copies)),
      max_held_(std::max(kMaxLaunches / options.launches_a_copy, std::size_t{1})),
      num_warm_ups_(std::min(options.num_warm_ups, max_held_ / 2)),
      start_(context, kernels, copies_.size(), options.gate_timeout) {}

double GateLoop::first_call(std::size_t num_streams) {
  const CurrentContext current(context_);
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < num_streams; ++i) copies_[i](start_.stream(i).handle());
  for (std::size_t i = 0; i < num_streams; ++i) start_.stream(i).synchronize();
  return seconds_since(begin);
}

std::size_t GateLoop::calibrate(double first_call_seconds, const SampleSize& size) {
  SampleSize held = size;
  held.max_repetitions = std::min(size.max_repetitions, max_held_ - num_warm_ups_);
  return measure::calibrate(held, first_call_seconds,
                            [this](std::size_t num_copies) { return run(num_copies); });
}

double GateLoop::run(std::size_t num_copies) {
  enqueue(num_copies);
  release();
  wait();
  return makespan_seconds() / static_cast<double>(num_copies);
}

void GateLoop::enqueue(std::size_t num_copies, std::size_t load_ratio) {
  const CurrentContext current(context_);
  start_.hold();
  enqueue_in(0, num_warm_ups_);
  start_.mark_start();
  enqueue_in(0, num_copies);
  enqueue_in(1, num_copies * (load_ratio - 1));
  start_.mark_end();
}

/// Enqueues to the streams in turn, so that none waits long for its first copy.
void GateLoop::enqueue_in(std::size_t first_stream, std::size_t num_copies) {
  for (std::size_t copy = 0; copy < num_copies; ++copy) {
    for (std::size_t i = first_stream; i < copies_.size(); ++i)
      copies_[i](start_.stream(i).handle());
  }
}

void GateLoop::wait() const {
  const CurrentContext current(context_);
  start_.wait();
}

double GateLoop::seconds(std::size_t stream) const {
  const CurrentContext current(context_);
  return start_.seconds(stream);
}

double GateLoop::seconds_with_warm_ups(std::size_t stream) const {
  const CurrentContext current(context_);
  return start_.seconds_with_warm_ups(stream);
}

double GateLoop::makespan_seconds() const {
  const CurrentContext current(context_);
  return start_.makespan_seconds();
}

}  // namespace isthmus::measure

#include "transfer/copy/engine.hpp"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/copy/failed_copy.hpp"
#include "transfer/staging/file_source.hpp"
#include "window/forks.hpp"

namespace isthmus::transfer {
namespace {

using Clock = std::chrono::steady_clock;

// Reading the clock twice costs half as much as the shortest copy, so of repeated copies only one
// in this many is timed.
constexpr std::uint32_t kTimedEvery = 64;
thread_local std::uint32_t num_copies_again = 0;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double predicted_seconds(const Plan& plan) {
  if (plan.predicted_seconds != Plan::kNotPredicted) return plan.predicted_seconds;
  return is_window(plan.path) ? plan.device->seconds(plan.path, plan.crossing) : 0;
}

/// The context of a task's device, if it has one.
std::optional<ContextOfDevice> context_of(const Task& task, Devices& devices) {
  if (task.device < 0) return std::nullopt;
  return std::optional<ContextOfDevice>(std::in_place, devices.at(task.device).context());
}

Return return_for(SourceOrder source_order) {
  return source_order == SourceOrder::call ? Return::source_free : Return::begun;
}

/// True if the current context is one that the program made itself. An event of the primary context
/// can't mark a place in such a context's streams.
bool is_foreign_context(const Driver& driver, const Context& own) {
  CUcontext current = nullptr;
  driver.call(symbol::ctx_get_current)(&current);
  return current != nullptr && current != own.handle();
}

}  // namespace

Engine::Engine(Windows the_windows)
    : driver(the_windows.driver()),
      windows(std::move(the_windows)),
      process_(0),
      host_memory_(driver),
      cache_(std::make_unique<WindowCache>(windows)),
      devices_(driver, *cache_),
      chooser_(driver, devices_, *cache_),
      many_chooser_(driver, devices_, *cache_, chooser_),
      plans_(driver, devices_, *cache_, host_memory_),
      window_carrier_(driver),
      driver_carrier_(driver),
      staged_carrier_(driver, driver_carrier_),
      registered_carrier_(driver),
      kernel_carrier_(driver),
      carriers_{&window_carrier_, &window_carrier_,     &driver_carrier_,
                &staged_carrier_, &registered_carrier_, &kernel_carrier_},
      background_(std::make_unique<Background>()) {
  prepare_for_failures();
  window::watch_forks();
  process_ = window::process_generation();
}

Engine::~Engine() {
  if (process_ == window::process_generation()) {
    background_.reset();  // its copies use everything below
    return;
  }
  // In a forked child the threads don't exist, and the locks may be held for ever.
  [[maybe_unused]] const Background* const background = background_.release();
  [[maybe_unused]] const WindowCache* const cache = cache_.release();
  devices_.forget();
}

void Engine::require_own_process() const {
  if (process_ == window::process_generation()) return;
  throw UsageError(
      "these Transfers belong to the process that this one was forked from: CUDA doesn't survive "
      "fork(); make new ones after a fork, or start processes by spawn");
}

void Engine::copy(void* target, const void* source, std::size_t size_bytes,
                  const CopyOptions& options) {
  require_own_process();
  const Request request = request_of(options, Return::complete);
  if (size_bytes == 0 || copy_again(target, source, size_bytes, request)) return;
  copy_examined(examine(driver, host_memory_, target, source, size_bytes, request), request);
}

/// Returns     false, with nothing done, if the copy must be examined.
bool Engine::copy_again(void* target, const void* source, std::size_t size_bytes,
                        const Request& request) try {
  const Plan plan = plans_.find(target, source, size_bytes, request);
  if (!plan) return false;
  const ContextOfDevice context(plan.device->context());
  if (!plans_.confirm(plan, request)) return false;
  const bool is_timed = num_copies_again++ % kTimedEvery == 0;
  if (is_timed) {
    carry_timed(plan, request, kTimedEvery);
  } else {
    statistics.count(plan.path, size_bytes);
    carrier(plan.path).carry(plan, request);
  }
  return true;
} catch (const DriverError& error) {
  // The driver doesn't know one of the addresses any more.
  if (error.code() != CUDA_ERROR_INVALID_VALUE) throw;
  return false;
}

void Engine::copy_examined(const Task& task, const Request& request) {
  const auto context = context_of(task, devices_);
  const Plan plan = chooser_.ready(task, request);
  carry(plan, request);
  plans_.note(plan, request);
}

void Engine::carry(const Plan& plan, const Request& request) {
  // Statistics count only copies that could have taken another path.
  if (plan.device == nullptr || plan.recorded || plan.file != nullptr)
    return carrier(plan.path).carry(plan, request);
  carry_timed(plan, request, 1);
}

/// num_copies  how many such copies this one's time stands for
void Engine::carry_timed(const Plan& plan, const Request& request, std::uint32_t num_copies) {
  // Count before copying: after the copy an atomic addition would wait until the bytes have left
  // the core.
  statistics.count(plan.path, plan.ends.size_bytes, plan.num_copies());
  const auto start = Clock::now();
  carrier(plan.path).carry(plan, request);
  statistics.time(plan.path, seconds_since(start), predicted_seconds(plan), num_copies);
}

std::shared_ptr<PendingCopy> Engine::copy_async(void* target, const void* source,
                                                std::size_t size_bytes, const CopyOptions& options,
                                                SourceOrder source_order) {
  require_own_process();
  Request request = request_of(options, return_for(source_order));
  if (size_bytes == 0) return PendingCopy::complete();
  const Task task = examine(driver, host_memory_, target, source, size_bytes, request);
  const auto context = context_of(task, devices_);
  request.when = when_to_return(task, request);
  const Plan plan = chooser_.ready(task, request);
  if (request.when != Return::complete && !plan.recorded) return begin(plan, request);
  carry(plan, request);
  return PendingCopy::complete();
}

/// When an asynchronous copy can return: later than asked for if nothing else keeps the rules. The
/// context of the task's device must be current.
Return Engine::when_to_return(const Task& task, const Request& request) {
  // A pinned source is read later, whatever the options say: here the caller must follow the rule
  // of "stream".
  const bool is_read_late = request.when == Return::source_free &&
                            task.ends.source_kind == MemoryKind::pinned &&
                            task.ends.is_ordered_by_driver();
  if (task.device < 0 || is_read_late ||
      is_foreign_context(driver, devices_.at(task.device).context()))
    return Return::complete;
  return request.when;
}

std::shared_ptr<PendingCopy> Engine::begin(const Plan& plan, const Request& request) {
  if (auto pending = carrier(plan.path).begin(plan, request)) {
    statistics.count(plan.path, plan.ends.size_bytes, plan.num_copies());
    return pending;
  }
  const bool source_must_be_free = plan.uploads() && request.when == Return::source_free;
  if (!source_must_be_free) return carry_in_background(plan, request);
  carry(plan, request);
  return PendingCopy::complete();
}

std::shared_ptr<PendingCopy> Engine::carry_in_background(const Plan& plan, const Request& request) {
  auto pending = std::make_shared<PendingCopy>();
  // Marks what the caller's stream contains now, not what comes later.
  auto before = std::make_shared<Completion>(plan.device->context());
  before->mark(request.stream);
  Request own_request = request;
  own_request.stream = plan.device->background_stream();
  pending->let_cancel();
  background_->post(
      {[before]() noexcept { return before->state() != Completion::State::under_way; },
       [this, plan, before, own_request, pending] {
         if (!pending->claim()) return;
         std::exception_ptr failure;
         try {
           const ContextOfDevice context(plan.device->context());
           before->wait();
           carry(plan, own_request);
         } catch (...) {
           failure = std::current_exception();
         }
         pending->finish(std::move(failure));
       }});
  return pending;
}

void Engine::copy_file(void* target, int descriptor, std::uint64_t offset_bytes,
                       std::size_t size_bytes, const CopyOptions& options) {
  require_own_process();
  const FileSource source(descriptor, offset_bytes, size_bytes);
  if (size_bytes == 0) return;
  copy_examined(examine(driver, target, source, size_bytes), request_of(options, Return::complete));
}

CopyPlan Engine::explain(const void* target, const void* source, std::size_t size_bytes,
                         const CopyOptions& options) {
  require_own_process();
  if (size_bytes == 0) throw UsageError("a copy of 0 bytes takes no path");
  const Request request = request_of(options, Return::complete);
  const Task task =
      examine(driver, host_memory_, const_cast<void*>(target), source, size_bytes, request);
  const auto context = context_of(task, devices_);
  const Plan plan = chooser_.choose(task, request);
  CopyPlan told;
  told.path = plan.path;
  told.source = task.source.kind;
  told.target = task.target.kind;
  told.device = task.device;
  if (!task.crosses) {
    told.costs.push_back({CopyPath::driver, true, 0,
                          "the only way here: the copy isn't between the host and a GPU's own "
                          "memory"});
    return told;
  }
  told.costs = plan.device->costs(task.crossing);
  told.measured = plan.device->profile()->measured();
  told.profile = plan.device->profile()->source();
  return told;
}

void Engine::use_profile(std::string_view json) {
  require_own_process();
  std::string refusals;
  for (int device = 0; device < driver.device_count(); ++device) {
    DevicePaths& ways = paths(device);
    try {
      ways.use(std::make_shared<const Profile>(
          Profile::parse(json, ways.context().device(), driver.emulated())));
      return;
    } catch (const UsageError& refusal) {
      refusals = refusal.what();
    }
  }
  throw UsageError(refusals.empty() ? "there is no device for a profile" : refusals);
}

void Engine::trim() {
  require_own_process();
  cache_->trim();
  devices_.trim();
}

}  // namespace isthmus::transfer

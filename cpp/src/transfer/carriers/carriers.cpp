#include "transfer/carriers/carriers.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include <pthread.h>

#include <isthmus/errors.hpp>

#include "host/cpu/signal_block.hpp"
#include "transfer/carriers/carrier.hpp"
#include "transfer/carriers/driver_copy.hpp"

namespace isthmus::transfer {

void Carrier::end_there(PendingCopy& pending, CUstream stream) const {
  try {
    pending.end_at(stream);
  } catch (...) {
    wait_for_copies(driver_, stream);
    pending.finish(nullptr);
  }
}

namespace {

template <typename Run>
std::thread started_thread(Run run) {
  const host::ScopedSignalBlock no_signals;
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    throw Unavailable("a thread for copies that go on in the background",
                      "the system refuses one: " + error.code().message(),
                      "a higher limit of processes (ulimit -u, pids.max) or of memory; a copy that "
                      "blocks needs no thread");
  }
}

}  // namespace

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::start() {
  const std::lock_guard lock(mutex_);
  start_under_lock();
}

void Background::start_under_lock() {
  if (!thread_.joinable()) thread_ = started_thread([this] { run(); });
}

void Background::post(BackgroundTask task) {
  {
    const std::lock_guard lock(mutex_);
    // Start the thread first: if that fails, the task must not stay in the queue for another task's
    // thread.
    start_under_lock();
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

/// The next task that may begin; nothing if none is left and the thread is ending. Asks whether
/// streams have reached their places after pauses: the first is as short as a copy, and the longest
/// costs at most a thousandth of a core.
std::optional<BackgroundTask> Background::take(std::unique_lock<std::mutex>& lock) {
  for (std::chrono::microseconds pause(20);;
       pause = std::min(2 * pause, std::chrono::microseconds(1000))) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return std::nullopt;
    const auto next = std::find_if(tasks_.begin(), tasks_.end(),
                                   [](const BackgroundTask& task) { return task.may_begin(); });
    if (next != tasks_.end()) {
      BackgroundTask task = std::move(*next);
      tasks_.erase(next);
      return task;
    }
    const std::size_t num_tasks = tasks_.size();
    changed_.wait_for(lock, pause, [&] { return tasks_.size() != num_tasks; });
  }
}

void Background::run() {
  pthread_setname_np(pthread_self(), "isthmus-async");
  std::unique_lock lock(mutex_);
  while (std::optional<BackgroundTask> task = take(lock)) {
    lock.unlock();
    task->run();
    task.reset();  // destroyed with everything it holds before the lock is taken
    lock.lock();
  }
}

namespace {

// Reading the clock twice costs half as much as the shortest copy, so of copies that are repeated
// without a pause only one in this many is timed.
constexpr std::uint32_t kTimedEvery = 64;

constinit thread_local std::uint32_t num_again_of_thread = 0;

}  // namespace

Carriers::Carriers(const Driver& driver, std::chrono::nanoseconds min_pause,
                   CopyPauses::Clock* clock)
    : pauses_(min_pause, clock),
      window_(driver),
      driver_(driver),
      staged_(driver, driver_),
      registered_(driver),
      kernel_(driver),
      carriers_{&window_, &window_, &driver_, &staged_, &registered_, &kernel_} {
  const int num_devices = driver.has_devices() ? driver.device_count() : 0;
  for (int device = 0; device < num_devices; ++device)
    backgrounds_.push_back(std::make_unique<Background>());
}

void Carriers::forget() noexcept {
  for (auto& background : backgrounds_) {
    [[maybe_unused]] const Background* const forgotten = background.release();
  }
}

void Carriers::carry(const Plan& plan, const Request& request, std::int64_t start_ns) {
  // Statistics count only copies that could have taken another path.
  if (plan.device == nullptr || plan.recorded || plan.file != nullptr)
    return of(plan.path).carry(plan, request);
  // Opening a window is no part of a copy's cost: see Profile::window_opening_seconds().
  const bool is_known = start_ns != kNoTime && !plan.opens_window;
  carry_timed(plan, request, 1, is_known ? start_ns : pauses_.now_ns());
}

Carriers::Timing Carriers::next_timing() const noexcept {
  const std::uint32_t number = num_again_of_thread++ % kTimedEvery;
  if (number == 0) return {kTimedEvery, false, pauses_.now_ns()};
  return {0, number == kTimedEvery - 1, kNoTime};
}

void Carriers::carry_again(const Plan& plan, const Request& request, const Timing& timing) {
  if (timing.stands_for > 0) return carry_timed(plan, request, timing.stands_for, timing.start_ns);
  carry_counted(plan, request);
  if (timing.next_is_timed) pauses_.note_end(pauses_.now_ns());
}

/// Counts before copying: after the copy an atomic addition would wait until the bytes have left the
/// core. So a copy that fails is counted for as long as it tries.
void Carriers::carry_counted(const Plan& plan, const Request& request) {
  count(plan);
  try {
    of(plan.path).carry(plan, request);
  } catch (...) {
    statistics_.count_back(plan.path, plan.ends.size_bytes, plan.num_copies());
    throw;
  }
}

/// num_copies  how many such copies this one's time stands for
void Carriers::carry_timed(const Plan& plan, const Request& request, std::uint32_t num_copies,
                           std::int64_t start_ns) {
  Crossing crossing = plan.crossing;
  // A plan that was kept was made without knowing when it would be carried.
  if (plan.predicted_seconds == Plan::kNotPredicted)
    crossing.after_pause = pauses_.is_after_pause(start_ns);
  carry_counted(plan, request);
  const double seconds = end_copy(start_ns);
  double predicted = std::max(0.0, plan.predicted_seconds);
  // Copies without a prediction, such as those of managed memory, have other costs.
  if (plan.pieces == nullptr && (predicted > 0 || is_window(plan.path)))
    predicted = plan.device->seconds(plan.path, crossing);
  statistics_.time(plan.path, seconds, predicted, num_copies);
}

/// Notes that the copy ends now.
///
/// Returns     the seconds that it took
double Carriers::end_copy(std::int64_t start_ns) {
  const std::int64_t end_ns = pauses_.now_ns();
  pauses_.note_end(end_ns);
  return static_cast<double>(end_ns - start_ns) * 1e-9;
}

/// An upload that can't be begun is made at once if its source must be free on return.
bool Carriers::needs_background(const Plan& plan, const Request& request) const noexcept {
  const bool source_must_be_free = plan.uploads() && request.when == Return::source_free;
  return !source_must_be_free && !of(plan.path).can_begin(plan, request);
}

void Carriers::prepare_to_begin(const Plan& plan, const Request& request) {
  if (needs_background(plan, request)) background_of(plan).start();
}

std::shared_ptr<PendingCopy> Carriers::begin(const Plan& plan, const Request& request) {
  if (needs_background(plan, request)) return carry_in_background(plan, request);
  if (auto pending = of(plan.path).begin(plan, request)) {
    count(plan);
    return pending;
  }
  carry(plan, request);
  return PendingCopy::complete();
}

std::shared_ptr<PendingCopy> Carriers::begin_early(const Plan& plan, const Request& request) {
  if (plan.device == nullptr || plan.recorded) return nullptr;
  Request early = request;
  early.when = plan.uploads() ? Return::source_free : Return::begun;
  auto pending = of(plan.path).begin(plan, early);
  if (pending != nullptr) count(plan);
  return pending;
}

std::shared_ptr<PendingCopy> Carriers::begin_beside(const Plan& plan, const Request& request) try {
  background_of(plan).start();
  return carry_in_background(plan, request);
} catch (const Unavailable&) {
  return nullptr;
}

std::shared_ptr<PendingCopy> Carriers::carry_in_background(const Plan& plan,
                                                           const Request& request) {
  auto pending = std::make_shared<PendingCopy>();
  // Marks what the caller's stream contains now, not what comes later.
  auto before = std::make_shared<Completion>(plan.device->context());
  before->mark(request.stream);
  Request own_request = request;
  own_request.stream = plan.device->background_stream();
  pending->let_cancel();
  background_of(plan).post(
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

}  // namespace isthmus::transfer

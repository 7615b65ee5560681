#include "host/memory/first_touch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "host/cpu/clock.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/signal_block.hpp"
#include "host/memory/memory_limits.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::host {
namespace {

constexpr std::size_t kMaxPagesAsked = 16;
constexpr double kSecondsPerNanosecond = 1e-9;

bool make_present(const Pages& pages) noexcept {
  int error = 0;
  do {
    error = populate(pages, Access::write);
  } while (error == EINTR || error == EAGAIN);
  return error == 0;
}

/// Whether the kernel knows MADV_POPULATE_WRITE, tested on memory that certainly is writable. An
/// unknown advice and unwritable memory give the same error.
bool can_populate() noexcept {
  static const bool can = [] {
    std::byte here{};
    return make_present(Pages(&here, 1));
  }();
  return can;
}

/// The kernel takes the advice where it gives no such page, too. Asked once: a process that turns
/// huge pages off later is told that it has them.
bool may_have_huge_pages() noexcept {
  static const bool may = [] {
    try {
      return gives_advised_huge_pages();
    } catch (const std::exception&) {
      return true;  // no memory for the text of the setting
    }
  }();
  return may;
}

/// An atomic "or" with zero: the kernel sees a store, other threads see no change.
void store_once_per_page(std::byte* memory, std::size_t size_bytes) noexcept {
  auto* byte = reinterpret_cast<unsigned char*>(memory);
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  for (std::size_t offset = 0; offset < size_bytes;
       offset += page_bytes() - (start + offset) % page_bytes()) {
    __atomic_fetch_or(byte + offset, 0, __ATOMIC_RELAXED);
  }
}

std::size_t faults_of_this_thread() noexcept {
  rusage usage{};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return static_cast<std::size_t>(usage.ru_minflt);
}

}  // namespace

bool touch_pages(std::byte* memory, std::size_t size_bytes) noexcept {
  if (size_bytes == 0) return true;
  const Pages pages(memory, size_bytes);
  if (can_populate()) return make_present(pages);
  store_once_per_page(memory, size_bytes);
  return true;
}

bool advise_huge_pages(std::byte* memory, std::size_t size_bytes) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = round_up(start, kHugePageBytes);
  const std::uintptr_t end = (start + size_bytes) / kHugePageBytes * kHugePageBytes;
  if (first >= end || !may_have_huge_pages()) return false;
  return madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE) == 0;
}

bool mostly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept {
  if (size_bytes == 0) return false;
  const Pages pages(memory, size_bytes);
  const std::size_t num_asked = std::min(pages.count(), kMaxPagesAsked);
  std::size_t num_resident = 0;
  for (std::size_t i = 0; i < num_asked; ++i) {
    // In the middle of each part: the ends of a buffer are often touched when the rest isn't.
    const std::size_t index = (2 * i + 1) * pages.count() / (2 * num_asked);
    if (is_resident(static_cast<std::byte*>(pages.data()) + index * page_bytes())) ++num_resident;
  }
  return 2 * num_resident < num_asked;
}

struct ParallelTouch::State {
  std::byte* memory = nullptr;
  std::size_t size_bytes = 0;
  std::atomic<std::size_t> next_offset{0};
  std::atomic<bool> all_there{false};
  std::atomic<bool> stopped{false};
  std::atomic<bool> failed{false};
  std::atomic<std::size_t> num_faults{0};
  std::int64_t begun_ns = 0;
  std::atomic<std::int64_t> ended_ns{0};
  std::vector<std::thread> threads;

  void start(const TouchOptions& options);
  void begin() noexcept;
  void touch_all() noexcept;
  void join() noexcept;
};

void ParallelTouch::State::start(const TouchOptions& options) {
  const ScopedSignalBlock block;
  threads.reserve(static_cast<std::size_t>(options.num_threads));
  while (threads.size() < static_cast<std::size_t>(std::max(1, options.num_threads))) {
    try {
      threads.emplace_back([this, cpus = options.cpus] {
        pthread_setname_np(pthread_self(), "isthmus-touch");
        if (!cpus.empty()) allow_cpus(cpus);
        all_there.wait(false);
        touch_all();
      });
    } catch (const std::system_error&) {
      if (threads.empty()) throw;
      break;  // the threads that exist do all of it
    }
  }
  begin();
}

/// All threads begin together: creating a thread changes the process's mappings, and waits until no
/// existing thread is faulting pages. Created one after the other, 16 threads took 137 ms per GiB;
/// together they take 20.
void ParallelTouch::State::begin() noexcept {
  all_there.store(true);
  all_there.notify_all();
}

void ParallelTouch::State::touch_all() noexcept {
  const std::size_t faults_before = faults_of_this_thread();
  while (!stopped.load(std::memory_order_relaxed)) {
    const std::size_t offset = next_offset.fetch_add(kTouchBytes, std::memory_order_relaxed);
    if (offset >= size_bytes) break;
    if (touch_pages(memory + offset, std::min(kTouchBytes, size_bytes - offset))) continue;
    failed.store(true, std::memory_order_relaxed);
    stopped.store(true, std::memory_order_relaxed);
  }
  num_faults.fetch_add(faults_of_this_thread() - faults_before, std::memory_order_relaxed);
  const std::int64_t now_ns = steady_ns();
  std::int64_t latest_ns = ended_ns.load(std::memory_order_relaxed);
  while (latest_ns < now_ns && !ended_ns.compare_exchange_weak(latest_ns, now_ns)) {
  }
}

void ParallelTouch::State::join() noexcept {
  for (std::thread& thread : threads) thread.join();
  threads.clear();
}

ParallelTouch::ParallelTouch(std::byte* memory, std::size_t size_bytes, const TouchOptions& options)
    : state_(std::make_unique<State>()) {
  state_->memory = memory;
  state_->size_bytes = size_bytes;
  state_->begun_ns = steady_ns();
  try {
    state_->start(options);
  } catch (...) {
    stop();
    state_->begin();
    state_->join();
    throw;
  }
}

ParallelTouch::~ParallelTouch() {
  stop();
  state_->join();
}

void ParallelTouch::stop() noexcept { state_->stopped.store(true, std::memory_order_relaxed); }

void ParallelTouch::wait_until_begun(std::size_t size_bytes) const noexcept {
  const std::size_t goal_bytes = std::min(size_bytes, state_->size_bytes);
  while (state_->next_offset.load(std::memory_order_relaxed) < goal_bytes &&
         !state_->stopped.load(std::memory_order_relaxed)) {
    std::this_thread::yield();
  }
}

bool ParallelTouch::wait() {
  state_->join();
  return !state_->failed.load() && state_->next_offset.load() >= state_->size_bytes &&
         !state_->stopped.load();
}

double ParallelTouch::seconds() const noexcept {
  const std::int64_t ended_ns = state_->ended_ns.load();
  if (!state_->threads.empty() || ended_ns == 0) return 0;
  return static_cast<double>(ended_ns - state_->begun_ns) * kSecondsPerNanosecond;
}

std::size_t ParallelTouch::num_faults() const noexcept {
  return state_->threads.empty() ? state_->num_faults.load() : 0;
}

}  // namespace isthmus::host

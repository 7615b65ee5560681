#include "transfer/plan/window_cache.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

#include <pthread.h>

#include <isthmus/errors.hpp>

#include "host/cpu/signal_block.hpp"
#include "host/memory/first_touch.hpp"
#include "transfer/request/identity.hpp"
#include "window/registry.hpp"

namespace isthmus::transfer {
namespace {

/// What the calling thread found last. Weak: a thread that no longer copies keeps nothing open.
struct LastFound {
  std::uint64_t identity = 0;
  std::uint64_t epoch = 0;
  std::weak_ptr<CachedWindow> window;
};
thread_local LastFound last_found;

struct Piece {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;
};

/// The part of a buffer that one window on [address, + size_bytes) maps.
Piece piece_of(const MemoryRange& buffer, std::uintptr_t address, std::size_t size_bytes) {
  if (reaches_past(buffer, address, size_bytes)) return {address, size_bytes};
  if (buffer.size_bytes <= WindowCache::kMaxWindowBytes) return {buffer.base, buffer.size_bytes};
  const std::uintptr_t end = buffer.base + buffer.size_bytes;
  std::uintptr_t begin = std::max(buffer.base, address - address % host::kHugePageBytes);
  if (end - begin < WindowCache::kMaxWindowBytes)
    begin = std::max(buffer.base, end - WindowCache::kMaxWindowBytes);
  begin = std::min(begin, address);
  return {begin, std::max(std::min<std::size_t>(WindowCache::kMaxWindowBytes, end - begin),
                          address - begin + size_bytes)};
}

WindowOptions options_with(int num_threads) {
  WindowOptions options;
  options.num_threads = num_threads;
  options.check = BufferCheck::on_opening;  // The copy that uses it checks, at each call.
  return options;
}

}  // namespace

CachedWindow::CachedWindow(Windows& windows, const MemoryRange& buffer, std::uintptr_t begin,
                           std::size_t size_bytes)
    : windows_(windows),
      buffer_id_(buffer.buffer_id),
      device_(buffer.device),
      begin_(begin),
      size_bytes_(size_bytes),
      one_(windows_.open(begin, size_bytes, options_with(1))),
      helpers_(window::Registry::threads_of(windows_)) {}

Window& CachedWindow::window(bool threads) {
  if (!used_.load(std::memory_order_relaxed)) used_.store(true, std::memory_order_relaxed);
  if (!threads) return one_;
  std::call_once(several_once_, [this] {
    // CopyThreads takes as many of the 16 as pay.
    several_ = std::make_unique<Window>(windows_.open(begin_, size_bytes_, options_with(16)));
  });
  return *several_;
}

void CachedWindow::write(std::uintptr_t address, const void* source, std::size_t size_bytes,
                         bool threads) {
  window(threads).write(address - begin_, source, size_bytes);
}

void CachedWindow::read(void* target, std::uintptr_t address, std::size_t size_bytes,
                        bool threads) {
  window(threads).read(target, address - begin_, size_bytes);
}

WindowCache::WindowCache(Windows windows)
    : windows_(std::move(windows)), identity_(new_identity()) {}

WindowCache::~WindowCache() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
}

std::shared_ptr<CachedWindow> WindowCache::find_either(std::uintptr_t target, std::uintptr_t source,
                                                       std::size_t size_bytes) {
  if (!any_open_.load(std::memory_order_acquire)) return nullptr;
  const auto fits = [=](const CachedWindow& window) {
    return window.covers(target, size_bytes) || window.covers(source, size_bytes);
  };
  if (last_found.identity == identity_ &&
      last_found.epoch == epoch_.load(std::memory_order_acquire)) {
    auto window = last_found.window.lock();
    if (window != nullptr && fits(*window)) return window;
  }
  const std::lock_guard lock(mutex_);
  for (const auto& window : open_) {
    if (!fits(*window)) continue;
    last_found = {identity_, epoch_.load(std::memory_order_relaxed), window};
    return window;
  }
  return nullptr;
}

std::shared_ptr<CachedWindow> WindowCache::earn(const MemoryRange& buffer, std::uintptr_t address,
                                                std::size_t size_bytes, double missed_seconds,
                                                double opening_seconds) {
  if (reaches_past(buffer, address, size_bytes)) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (refusals_.contains(buffer.device)) return nullptr;
    if (missed_seconds_.size() > 4096) missed_seconds_.clear();
    double& missed = missed_seconds_[buffer.buffer_id];
    missed += missed_seconds;
    if (missed < opening_seconds) return nullptr;
    missed = 0;
  }
  try {
    return open(buffer, address, size_bytes);
  } catch (const UsageError&) {
    return nullptr;  // This buffer can't be mapped. The full price must be missed again before the
                     // next attempt.
  } catch (const Unavailable& absent) {
    // Other memory of the device may have windows though this has none: a pool's, for instance.
    if (window::Registry::work_on(windows_, buffer.device)) {
      put_off(buffer, opening_seconds);
    } else {
      refuse(buffer.device, absent.what());
    }
    return nullptr;
  }
}

void WindowCache::put_off(const MemoryRange& buffer, double opening_seconds) {
  const std::lock_guard lock(mutex_);
  // A window that was refused is tried again, for the cause may pass, after copies of that buffer have
  // missed so many times what opening one costs: trying takes a hundredth of their time at most.
  missed_seconds_[buffer.buffer_id] = -100 * opening_seconds;
}

std::shared_ptr<CachedWindow> WindowCache::open(const MemoryRange& buffer, std::uintptr_t address,
                                                std::size_t size_bytes) {
  const Piece piece = piece_of(buffer, address, size_bytes);
  auto window = std::make_shared<CachedWindow>(windows_, buffer, piece.begin, piece.size_bytes);
  // In memory that was mapped in pieces, each piece is a buffer and may be unmapped alone, but a
  // copy checks only the first piece's buffer. Such a window isn't kept.
  if (reaches_past(buffer, address, size_bytes)) return window;
  add(window);
  if (!is_swept()) close_some(false);
  return window;
}

void WindowCache::add(const std::shared_ptr<CachedWindow>& window) {
  const std::lock_guard lock(mutex_);
  // An older window here belongs to a freed buffer: it must not be found for this address.
  std::erase_if(open_, [&](const auto& other) {
    return other->covers(window->begin(), 1) && other->buffer_id() != window->buffer_id();
  });
  epoch_.fetch_add(1, std::memory_order_release);
  open_.push_back(window);
  any_open_.store(true, std::memory_order_release);
  if (!sweeping_) start_sweeper();
}

bool WindowCache::is_swept() const {
  const std::lock_guard lock(mutex_);
  return sweeping_;
}

/// If the system has no thread, opening the next window sweeps, and tries again to start one.
void WindowCache::start_sweeper() {
  if (sweeper_.joinable()) sweeper_.join();
  const host::ScopedSignalBlock no_signals;
  try {
    sweeper_ = std::thread([this] { sweep_until_empty(); });
    sweeping_ = true;
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): no copy fails for it
  }
}

void WindowCache::refuse(int device, const std::string& why) {
  const std::lock_guard lock(mutex_);
  refusals_.emplace(device, why);
  refused_.fetch_or(std::uint64_t{1} << bit_of(device), std::memory_order_relaxed);
}

std::string WindowCache::why_not(int device) const {
  const std::lock_guard lock(mutex_);
  const auto found = refusals_.find(device);
  return found == refusals_.end() ? std::string{} : found->second;
}

void WindowCache::sweep_until_empty() {
  pthread_setname_np(pthread_self(), "isthmus-sweep");
  int num_sweeps = 0;
  std::unique_lock lock(mutex_);
  while (!ending_ && !open_.empty()) {
    wake_.wait_for(lock, std::chrono::milliseconds{100}, [this] { return ending_; });
    if (ending_) break;
    lock.unlock();
    try {
      close_some(++num_sweeps % 20 == 0);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a lost context
    }
    lock.lock();
  }
  sweeping_ = false;
}

/// Closes windows of freed buffers; with `idle` also those that weren't used since the last call.
void WindowCache::close_some(bool idle) {
  std::vector<std::shared_ptr<CachedWindow>> candidates;
  {
    const std::lock_guard lock(mutex_);
    candidates = open_;
  }
  std::erase_if(candidates, [idle](const auto& window) {
    return window->buffer_is_alive() && !(idle && window->idle_since_last_asked());
  });
  if (candidates.empty()) return;
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [&](const auto& window) {
    return std::find(candidates.begin(), candidates.end(), window) != candidates.end();
  });
  any_open_.store(!open_.empty(), std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
}

void WindowCache::trim() {
  std::vector<std::shared_ptr<CachedWindow>> closing;
  const std::lock_guard lock(mutex_);
  closing.swap(open_);
  any_open_.store(false, std::memory_order_release);
  refusals_.clear();
  refused_.store(0, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
}

}  // namespace isthmus::transfer

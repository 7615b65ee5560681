#include "driver/forks.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

namespace isthmus {

std::atomic<std::uint64_t> detail::process_generation{1};

namespace {

// Never destroyed: windows may be closed by destructors that run after this file's.
struct OpenDescriptors {
  std::mutex delay;  // taken before `mutex`
  std::mutex mutex;
  std::vector<int> descriptors;
};

OpenDescriptors& open_descriptors() {
  static auto* const open = new OpenDescriptors;
  return *open;
}

// Held across fork(), so that the child finds the list in a consistent state.
void before_fork() {
  open_descriptors().delay.lock();
  open_descriptors().mutex.lock();
}
void in_parent() {
  open_descriptors().mutex.unlock();
  open_descriptors().delay.unlock();
}

void in_child() {
  detail::process_generation.fetch_add(1, std::memory_order_relaxed);
  OpenDescriptors& open = open_descriptors();
  for (const int descriptor : open.descriptors) close(descriptor);
  open.descriptors.clear();
  open.mutex.unlock();
  open.delay.unlock();
}

}  // namespace

void detail::refuse_in_child(std::string_view what) {
  throw UsageError(
      std::string(what) +
      " can't be used in this process: it was forked from the process that opened the CUDA driver, "
      "and CUDA doesn't survive fork(); start processes by spawn, or fork before Isthmus is first "
      "used");
}

void watch_forks() {
  static const int watching = pthread_atfork(before_fork, in_parent, in_child);
  static_cast<void>(watching);
}

ScopedForkDelay::ScopedForkDelay() {
  watch_forks();
  open_descriptors().delay.lock();
}

ScopedForkDelay::~ScopedForkDelay() { open_descriptors().delay.unlock(); }

void close_in_children(int descriptor) {
  watch_forks();
  OpenDescriptors& open = open_descriptors();
  const std::lock_guard lock(open.mutex);
  open.descriptors.push_back(descriptor);
}

void forget_descriptor(int descriptor) noexcept {
  OpenDescriptors& open = open_descriptors();
  const std::lock_guard lock(open.mutex);
  const auto found = std::find(open.descriptors.begin(), open.descriptors.end(), descriptor);
  if (found == open.descriptors.end()) return;
  *found = open.descriptors.back();
  open.descriptors.pop_back();
}

}  // namespace isthmus

#include "device/cleanup.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <new>
#include <utility>

namespace isthmus {
namespace {

void warn_once(const std::string& message) {
  static std::atomic_flag warned = ATOMIC_FLAG_INIT;
  if (!warned.test_and_set()) std::fprintf(stderr, "isthmus: warning: %s\n", message.c_str());
}

struct SinkSlot {
  std::mutex mutex;
  CleanupSink sink = warn_once;
};

SinkSlot& sink_slot() {
  static auto* slot = new SinkSlot;  // never destroyed: destructors of statics may still report
  return *slot;
}

bool nothing_left(CUresult result) {
  return result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED ||
         result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

}  // namespace

CleanupSink set_cleanup_sink(CleanupSink sink) {
  const std::scoped_lock lock(sink_slot().mutex);
  return std::exchange(sink_slot().sink, std::move(sink));
}

void report_cleanup(const Driver& driver, CUresult result, std::string_view symbol_name) noexcept {
  if (nothing_left(result)) return;
  try {
    report_cleanup(std::string(symbol_name) +
                   " failed while cleaning up: " + driver.name_of(result));
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory while reporting: nobody can be
                   // told
  }
}

void report_cleanup(const std::string& message) noexcept {
  try {
    const std::scoped_lock lock(sink_slot().mutex);
    sink_slot().sink(message);
  } catch (...) {  // NOLINT(bugprone-empty-catch): the sink's own failure
  }
}

namespace {

// Never destroyed: destructors of statics may still add to it. Without a lock, because a forked
// child adds what it has of its parent, one of whose threads may have held it.
struct Leaked {
  const void* object;
  Leaked* next;
};
std::atomic<Leaked*> last{nullptr};

}  // namespace

void note_leaked(const void* object) noexcept {
  auto* const noted = new (std::nothrow) Leaked{object, last.load()};
  if (noted == nullptr) return;  // it lasts without a note
  while (!last.compare_exchange_weak(noted->next, noted)) {
  }
}

}  // namespace isthmus

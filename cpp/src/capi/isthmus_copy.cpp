// isthmus.h: copies.
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <isthmus/isthmus.h>
#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include "capi/default_transfers.hpp"
#include "capi/default_windows.hpp"
#include "capi/isthmus_calls.hpp"

namespace isthmus::capi {
namespace {

struct Copies {
  std::mutex mutex;
  std::optional<Transfers> transfers;
  std::atomic<Transfers*> made{nullptr};  ///< for callers that don't take the lock
};

PerProcess<Copies> copies;

}  // namespace

Transfers& default_transfers() {
  Copies& own = copies.get();
  if (Transfers* const made = own.made.load(std::memory_order_acquire)) return *made;
  // Throws in a child of a process that has used CUDA.
  Windows& windows = default_windows();
  const std::lock_guard lock(own.mutex);
  if (!own.transfers) own.transfers.emplace(windows);
  own.made.store(&*own.transfers, std::memory_order_release);
  return *own.transfers;
}

namespace {

MemoryKind kind_of(isthmus_memory_kind kind, const char* member) {
  switch (kind) {
    case ISTHMUS_MEMORY_UNKNOWN:
      return MemoryKind::unknown;
    case ISTHMUS_MEMORY_PAGEABLE:
      return MemoryKind::pageable;
    case ISTHMUS_MEMORY_PINNED:
      return MemoryKind::pinned;
    case ISTHMUS_MEMORY_DEVICE:
      return MemoryKind::device;
    case ISTHMUS_MEMORY_MANAGED:
      return MemoryKind::managed;
    case ISTHMUS_MEMORY_HOST:
      return MemoryKind::host;
  }
  throw UsageError("isthmus_copy_options." + std::string(member) + " is " +
                   std::to_string(static_cast<int>(kind)) + ": it can be 0 to 5");
}

CopyOptions options_of(const isthmus_copy_options* given) {
  CopyOptions options;
  if (given == nullptr) return options;
  require_known_members(*given, "isthmus_copy_options", "ISTHMUS_COPY_OPTIONS_INIT");
  options.stream = reinterpret_cast<std::uintptr_t>(given->stream);
  options.source_kind = kind_of(given->source_kind, "source_kind");
  options.target_kind = kind_of(given->target_kind, "target_kind");
  options.ordered = given->unordered == 0;
  if (given->path != nullptr) options.path = given->path;
  return options;
}

SourceOrder order_of(const isthmus_copy_options* given) {
  if (given == nullptr || given->source_order == ISTHMUS_SOURCE_ORDER_CALL)
    return SourceOrder::call;
  if (given->source_order == ISTHMUS_SOURCE_ORDER_STREAM) return SourceOrder::stream;
  throw UsageError("isthmus_copy_options.source_order is " +
                   std::to_string(static_cast<int>(given->source_order)) + ": it can be 0 or 1");
}

template <typename CFuture>
auto& required(CFuture* future) {
  if (future == nullptr) throw UsageError("the future is a null pointer");
  return future->future;
}

void fill(isthmus_copy_plan& target, const CopyPlan& plan) {
  // All point to string literals, so they end with a null.
  target.path = name_of(plan.path).data();
  target.source = name_of(plan.source).data();
  target.target = name_of(plan.target).data();
  target.seconds = plan.costs.empty() ? 0 : plan.costs.front().seconds;
  target.measured = plan.measured ? 1 : 0;
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::default_transfers;
using isthmus::capi::guarded;

isthmus_status isthmus_copy(void* target, const void* source, size_t size_bytes,
                            const isthmus_copy_options* options, isthmus_error* error) {
  return guarded(error, [&] {
    default_transfers().copy(target, source, size_bytes, isthmus::capi::options_of(options));
  });
}

isthmus_status isthmus_copy_async(void* target, const void* source, size_t size_bytes,
                                  const isthmus_copy_options* options, isthmus_future** future,
                                  isthmus_error* error) {
  return guarded(error, [&] {
    if (future == nullptr)
      throw isthmus::UsageError("where the future should go is a null pointer");
    const isthmus::CopyOptions wanted = isthmus::capi::options_of(options);
    const isthmus::SourceOrder order = isthmus::capi::order_of(options);
    auto made = std::make_unique<isthmus_future>();
    made->future = default_transfers().copy_async(target, source, size_bytes, wanted, order);
    *future = made.release();
  });
}

isthmus_status isthmus_future_wait(isthmus_future* future, isthmus_error* error) {
  return guarded(error, [&] { isthmus::capi::required(future).wait(); });
}

isthmus_status isthmus_future_ready(const isthmus_future* future, int* ready,
                                    isthmus_error* error) {
  return guarded(error, [&] {
    if (ready == nullptr) throw isthmus::UsageError("where the answer should go is a null pointer");
    *ready = isthmus::capi::required(future).ready() ? 1 : 0;
  });
}

void isthmus_future_free(isthmus_future* future) { delete future; }

isthmus_status isthmus_explain_copy(const void* target, const void* source, size_t size_bytes,
                                    const isthmus_copy_options* options, isthmus_copy_plan* plan,
                                    isthmus_error* error) {
  return guarded(error, [&] {
    if (plan == nullptr) throw isthmus::UsageError("where the plan should go is a null pointer");
    if (plan->struct_size < sizeof *plan)
      throw isthmus::UsageError("isthmus_copy_plan.struct_size is " +
                                std::to_string(plan->struct_size) + ": set it to " +
                                std::to_string(sizeof *plan));
    isthmus::capi::fill(*plan, default_transfers().explain(target, source, size_bytes,
                                                           isthmus::capi::options_of(options)));
  });
}

isthmus_status isthmus_trim(isthmus_error* error) {
  return guarded(error, [] { default_transfers().trim(); });
}

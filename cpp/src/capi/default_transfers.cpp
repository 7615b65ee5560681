#include "capi/default_transfers.hpp"

#include <atomic>
#include <mutex>
#include <optional>

#include "capi/default_windows.hpp"
#include "capi/per_process.hpp"

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

}  // namespace isthmus::capi

#include "capi/default_transfers.hpp"

#include <mutex>
#include <optional>

#include "capi/default_windows.hpp"
#include "capi/per_process.hpp"

namespace isthmus::capi {
namespace {

struct Copies {
  std::mutex mutex;
  std::optional<Transfers> transfers;
};

PerProcess<Copies> copies;

}  // namespace

Transfers& default_transfers() {
  // This comes first, because it throws in a child of a process that has used CUDA.
  Windows& windows = default_windows();
  Copies& own = copies.get();
  const std::lock_guard lock(own.mutex);
  if (!own.transfers) own.transfers.emplace(windows);
  return *own.transfers;
}

}  // namespace isthmus::capi

#include "capi/exec_engine.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>
#include <string>

#include <isthmus/pinned.hpp>
#include <isthmus/transfer.hpp>

#include "capi/isthmus_calls.hpp"
#include "driver/driver.hpp"
#include "driver/environment.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/memory/pages.hpp"
#include "transfer/copy/engine.hpp"

namespace isthmus::capi {
namespace {

/// Processes of this job on this machine, as its launcher says; 1 if none does.
int local_ranks() {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                           "SLURM_NTASKS_PER_NODE"}) {
    const std::string value = environment(name).value_or("");
    int number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (number > 0) return number;
  }
  return 1;
}

/// Ranks that copy at the same time share the cores.
transfer::RingSettings ring_settings() {
  transfer::RingSettings settings;
  const int ranks = local_ranks();
  if (ranks > 1)
    settings.num_threads = std::max(2, static_cast<int>(host::allowed_cpus().size()) / ranks);
  return settings;
}

struct ExecEngine {
  Driver driver = Driver::open("system");
  Transfers transfers = transfer::transfers_with_ring(Windows(driver), ring_settings());
  std::mutex mutex;  ///< of the pool, which is made when it is first needed
  std::optional<PinnedPool> pool;

  /// Null if nothing has been pinned.
  PinnedPool* pool_with(const void* memory) {
    const std::lock_guard lock(mutex);
    return pool && pool->contains(memory, 1) ? &*pool : nullptr;
  }
  PinnedPool& the_pool(int device) {
    const std::lock_guard lock(mutex);
    if (!pool) pool.emplace(driver, device);
    return *pool;
  }
};

/// Never destroyed, because CUDA shuts down before static objects are destroyed.
ExecEngine* engine = nullptr;

}  // namespace
}  // namespace isthmus::capi

using isthmus::PinnedPool;
using isthmus::Transfers;
using isthmus::capi::engine;
using isthmus::capi::guarded;
using isthmus::transfer::Engine;

isthmus_status isthmus_exec_open(isthmus_error* error) {
  return guarded(error, [] { engine = new isthmus::capi::ExecEngine; });
}

isthmus_status isthmus_exec_copy(void* target, const void* source, size_t size_bytes, int to_device,
                                 int device, isthmus_error* error) {
  return guarded(error, [&] {
    Transfers& transfers = engine->transfers;
    isthmus::CopyOptions options;
    // Any other stream may be held up by what it has, or be waited for by others.
    options.stream =
        reinterpret_cast<std::uintptr_t>(Engine::of(transfers).paths(device).background_stream());
    (to_device != 0 ? options.target_kind : options.source_kind) = isthmus::MemoryKind::device;
    options.ordered = false;
    options.path = name_of(isthmus::CopyPath::staged);
    transfers.copy(target, source, size_bytes, options);
  });
}

void* isthmus_exec_pin(size_t size_bytes, int device, isthmus_error* error) {
  void* memory = nullptr;
  guarded(error, [&] {
    memory = engine->the_pool(device).allocate(size_bytes, PinnedPool::kNoStream,
                                               isthmus::host::kSmallPageBytes);
  });
  return memory;
}

int isthmus_exec_unpin(void* memory, int keep) {
  PinnedPool* const pool = engine->pool_with(memory);
  if (pool == nullptr || keep != 0) return pool != nullptr ? 1 : 0;
  const isthmus_status status = guarded(nullptr, [&] {
    engine->driver.call(isthmus::symbol::ctx_synchronize)();
    pool->free(memory);
  });
  return status == ISTHMUS_OK ? 1 : 0;
}

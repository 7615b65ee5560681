#include "transfer/pinned/pinned_region.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/cpu/clock.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/first_touch.hpp"
#include "host/memory/huge_mapping.hpp"
#include "host/memory/memory_limits.hpp"
#include "transfer/pinned/pin_failures.hpp"

namespace isthmus::transfer {
namespace {

using host::kHugePageBytes;

// Source of the limits below: benchmarks/transfer/pinning.cpp.

double seconds_since(std::int64_t begun_ns) {
  return static_cast<double>(host::steady_ns() - begun_ns) * 1e-9;
}

std::size_t piece_bytes_of(const PinOptions& options) {
  const std::size_t piece_bytes = options.max_piece_bytes / kHugePageBytes * kHugePageBytes;
  if (piece_bytes == 0 || piece_bytes != options.max_piece_bytes) {
    throw UsageError("pieces of " + std::to_string(options.max_piece_bytes) +
                     " bytes: give a multiple of 2097152 (2 MiB)");
  }
  return piece_bytes;
}

int node_of(const Context& context, const PinOptions& options) {
  if (options.numa_node >= 0) return options.numa_node;
  return host::pci_numa_node(context.device().pci_address).value_or(-1);
}

/// The node's CPUs that this thread may use; {}: no need to bind.
std::vector<int> cpus_of(int node) {
  for (const host::NumaNode& each : host::numa_nodes()) {
    if (each.id == node) return host::intersect_cpu_lists(each.cpus, host::allowed_cpus());
  }
  if (node >= 0) throw UsageError("no NUMA node " + std::to_string(node) + " to pin memory on");
  return {};
}

int num_touch_threads(std::size_t size_bytes, const PinOptions& options) {
  if (options.num_threads > 0) return options.num_threads;
  // One core is left for the caller, which registers meanwhile.
  const int num_spare = std::max(1, static_cast<int>(host::effective_cores()) - 1);
  // Starting a thread that touches less than 8 MiB costs more than it saves, and more than 16
  // threads zero memory no faster.
  const auto num_useful = std::max<std::size_t>(1, size_bytes >> 23U);
  return static_cast<int>(std::min(num_useful, static_cast<std::size_t>(std::min(num_spare, 16))));
}

host::HugeMapping map_memory(std::size_t size_bytes, int node) {
  if (size_bytes == 0) throw UsageError("pinned memory of 0 bytes: give at least 1");
  // Less endangers the machine no more than a malloc, and reading the limits takes longer than
  // pinning.
  if (size_bytes >= std::size_t{16} << 20U) require_room_to_pin(size_bytes, host::memory_limits());
  try {
    return host::HugeMapping(size_bytes, node, host::InChildren::missing);
  } catch (const std::system_error& error) {
    throw_no_pages(size_bytes, error.what(), host::memory_limits());
  }
}

/// True if there were so few faults for these bytes that most pages are huge.
bool came_in_huge_pages(std::size_t num_faults, std::size_t size_bytes) {
  // Of 512 faults if all pages are small, and 32 if they have 64 KiB.
  return host::huge_pages().transparent != "never" &&
         num_faults <= 4 * (size_bytes / kHugePageBytes);
}

}  // namespace

struct PinnedRegion::State {
  State(const Context& the_context, std::size_t size_bytes, const PinOptions& options);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void start_touch(const PinOptions& options, std::optional<host::ParallelTouch>& touch);
  void pin(const PinOptions& options);
  void register_pieces(const PinOptions& options);
  bool unregister() noexcept;

  Context context;
  std::size_t piece_bytes;
  int node;
  host::HugeMapping mapping;
  std::size_t registered_bytes = 0;
  PinCosts costs;
};

PinnedRegion::State::State(const Context& the_context, std::size_t size_bytes,
                           const PinOptions& options)
    : context(the_context),
      piece_bytes(piece_bytes_of(options)),
      node(node_of(the_context, options)),
      mapping(map_memory(size_bytes, node)) {}

/// Without threads the driver touches the missing pages one after another.
void PinnedRegion::State::start_touch(const PinOptions& options,
                                      std::optional<host::ParallelTouch>& touch) {
  const std::size_t size_bytes = mapping.size_bytes();
  // The driver faults one huge page as fast as threads would; looking for CPUs takes longer.
  if (size_bytes <= kHugePageBytes && options.numa_node < 0) return;
  const std::vector<int> cpus = cpus_of(node);  // throws if there is no such node
  if (size_bytes <= kHugePageBytes) return;
  const int num_threads = num_touch_threads(size_bytes, options);
  try {
    touch.emplace(mapping.data(), size_bytes, host::TouchOptions{num_threads, cpus});
  } catch (const std::system_error&) {
    return;
  }
  // The driver holds the lock of the process's mappings while it faults pages. Threads that start
  // need it, too, so let them start first.
  touch->wait_until_begun(2 * kHugePageBytes * static_cast<unsigned>(num_threads));
}

void PinnedRegion::State::pin(const PinOptions& options) {
  const std::int64_t begun_ns = host::steady_ns();
  std::optional<host::ParallelTouch> touch;
  start_touch(options, touch);
  register_pieces(options);
  if (touch) {
    touch->wait();
    costs.touch_seconds = touch->seconds();
    costs.huge_pages = came_in_huge_pages(touch->num_faults(), mapping.size_bytes());
  }
  costs.total_seconds = seconds_since(begun_ns);
}

/// Registers behind the touching threads: the driver finds their pages at once, and while it maps
/// one page they touch many.
void PinnedRegion::State::register_pieces(const PinOptions& options) {
  const CurrentContext current(context);
  const ScopedRelaxedCapture relaxed(context.driver());
  const Driver& driver = context.driver();
  (void)driver.call(symbol::mem_host_register);  // throws if there is none
  while (registered_bytes < mapping.size_bytes()) {
    if (options.interrupted && options.interrupted()) {
      throw Interrupted("pinning " + std::to_string(mapping.size_bytes()) +
                        " bytes of host memory was interrupted");
    }
    const std::int64_t begun_ns = host::steady_ns();
    const std::size_t size_bytes = std::min(piece_bytes, mapping.size_bytes() - registered_bytes);
    const CUresult result = driver.raw(symbol::mem_host_register)(
        mapping.data() + registered_bytes, size_bytes,
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS) {
      throw_pin_failure(driver, result, mapping.size_bytes(), host::memory_limits());
    }
    registered_bytes += size_bytes;
    costs.register_seconds += seconds_since(begun_ns);
  }
}

/// Returns false if the driver still holds some of it.
bool PinnedRegion::State::unregister() noexcept {
  const Driver& driver = context.driver();
  const ScopedRelaxedCapture relaxed(driver);
  const CUresult pushed = driver.raw(symbol::ctx_push_current)(context.handle());
  report_cleanup(driver, pushed, symbol::ctx_push_current.name);
  bool all = true;
  for (std::size_t offset = 0; offset < registered_bytes; offset += piece_bytes) {
    const CUresult result = driver.raw(symbol::mem_host_unregister)(mapping.data() + offset);
    report_cleanup(driver, result, symbol::mem_host_unregister.name);
    all = all && result == CUDA_SUCCESS;
  }
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
  return all;
}

PinnedRegion::State::~State() {
  // A child doesn't have the pages (MADV_DONTFORK), and may have mapped others at their addresses.
  // And memory that the driver still holds must not be reused.
  if (!context.in_own_process() || !unregister()) {
    mapping.release();
  } else if (mapping.size_bytes() >= std::size_t{128} << 20U) {
    mapping.drop_pages(4);
  }
}

PinnedRegion::PinnedRegion(const Context& context, std::size_t size_bytes,
                           const PinOptions& options)
    : state_(std::make_unique<State>(context, size_bytes, options)) {
  state_->pin(options);
}

PinnedRegion::PinnedRegion(PinnedRegion&&) noexcept = default;
PinnedRegion& PinnedRegion::operator=(PinnedRegion&&) noexcept = default;
PinnedRegion::~PinnedRegion() = default;

std::byte* PinnedRegion::data() const noexcept { return state_->mapping.data(); }
std::size_t PinnedRegion::size_bytes() const noexcept { return state_->mapping.size_bytes(); }
const PinCosts& PinnedRegion::costs() const noexcept { return state_->costs; }

void PinnedRegion::leave() noexcept { keep_until_process_ends(std::move(state_)); }

}  // namespace isthmus::transfer

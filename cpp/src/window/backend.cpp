#include "window/backend.hpp"

namespace isthmus::window {

// Relaxed: nothing is ordered by these numbers, and a reader during an opening may get either
// value.
void StepTotals::add(Step step, std::uint64_t nanoseconds) noexcept {
  Total& total = totals_[static_cast<std::size_t>(step)];
  total.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
  total.count.fetch_add(1, std::memory_order_relaxed);
}

WindowStep StepTotals::read(Step step) const noexcept {
  const Total& total = totals_[static_cast<std::size_t>(step)];
  return {total.count.load(std::memory_order_relaxed),
          static_cast<double>(total.nanoseconds.load(std::memory_order_relaxed)) * 1e-9};
}

WindowCosts StepTotals::costs() const noexcept {
  return {read(Step::pin), read(Step::map), read(Step::unmap), read(Step::unpin)};
}

void MappingSteps::count_in(std::shared_ptr<StepTotals> totals) noexcept {
  for (std::size_t step = 0; step < kNumSteps; ++step) {
    const std::optional<std::uint64_t>& taken_ns = uncounted_ns_[step];
    if (taken_ns) totals->add(static_cast<Step>(step), *taken_ns);
  }
  totals_ = std::move(totals);
}

void MappingSteps::took(Step step, std::uint64_t nanoseconds) noexcept {
  if (totals_ != nullptr) return totals_->add(step, nanoseconds);
  uncounted_ns_[static_cast<std::size_t>(step)] = nanoseconds;
}

std::string_view name_of(FoundBy found_by) noexcept {
  switch (found_by) {
    case FoundBy::address_range:
      return "its addresses (cuMemGetHandleForAddressRange)";
    case FoundBy::pinned_pages:
      return "its addresses (PIN_BUFFER)";
    case FoundBy::ipc_handle:
      return "its IPC handle (cuIpcGetMemHandle)";
    case FoundBy::descriptor:
      return "its descriptor (cuMemExportToShareableHandle)";
    case FoundBy::record:
      return "the driver's record of it (cuMemRetainAllocationHandle)";
  }
  return "unknown";
}

}  // namespace isthmus::window

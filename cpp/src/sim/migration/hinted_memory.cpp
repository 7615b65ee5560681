#include "sim/migration/hinted_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace isthmus::sim {
namespace {

using Kind = trace::HostStep::Kind;

/// The bytes of `step` that lie in `one`.
std::uint64_t common_bytes(const trace::HostStep& step, const trace::Allocation& one) {
  const std::uint64_t begin = std::max(step.address, one.address);
  const std::uint64_t end = std::min(step.address + step.size_bytes, one.address + one.size_bytes);
  return end > begin ? end - begin : 0;
}

/// What prefetching would take of the link for each allocation, in bytes: what the CPU writes before
/// a kernel, and what comes back and is brought again; and for each prefetch what it takes to begin.
class Moved {
public:
  Moved(const trace::Program& program, const AllocationUses& uses, std::uint64_t call_bytes,
        bool count_downloads)
      : program_(program),
        uses_(uses),
        call_bytes_(call_bytes),
        count_downloads_(count_downloads),
        bytes_(program.allocations.size()),
        absent_(program.allocations.size()) {}

  std::vector<std::uint64_t> operator()() {
    for (std::size_t launch = 0; launch < program_.launches.size(); ++launch) {
      for (const trace::HostStep& step : program_.launches[launch].before) add(step);
      for (const std::uint32_t index : uses_.of_launch[launch]) {
        if (absent_[index] != 0) bytes_[index] += absent_[index] + call_bytes_;
        absent_[index] = 0;
      }
    }
    for (const trace::HostStep& step : program_.after) add(step);
    return bytes_;
  }

private:
  void add(const trace::HostStep& step) {
    if (step.kind == Kind::upload_again) return;
    const bool writes = trace::copies_to_gpu(step.kind);
    for (std::size_t index = 0; index < bytes_.size(); ++index) {
      const trace::Allocation& one = program_.allocations[index];
      const std::uint64_t common = common_bytes(step, one);
      if (common == 0) continue;
      const bool goes_back = uses_.of_allocation[index].stored;
      if (goes_back && count_downloads_) bytes_[index] += common;
      if (goes_back || writes) absent_[index] = std::min(one.size_bytes, absent_[index] + common);
    }
  }

  const trace::Program& program_;
  const AllocationUses& uses_;
  std::uint64_t call_bytes_;
  bool count_downloads_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> absent_;  // on the CPU alone
};

}  // namespace

std::vector<Advice> advice_for(const trace::Program& program, const AllocationUses& uses,
                               std::uint64_t call_bytes, bool count_downloads) {
  const std::vector<std::uint64_t> moved = Moved(program, uses, call_bytes, count_downloads)();
  std::vector<Advice> advice;
  for (std::size_t index = 0; index < moved.size(); ++index) {
    const AllocationUse& use = uses.of_allocation[index];
    if (!use.atomic && use.requested_bytes <= moved[index]) {
      advice.push_back(Advice::in_place);
    } else {
      advice.push_back(use.stored ? Advice::on_gpu : Advice::read_mostly);
    }
  }
  return advice;
}

namespace {

/// What the link could carry while the driver begins to prefetch an allocation.
std::uint64_t call_bytes(const ModelledMachine& machine) {
  const Wide begin_ps = machine.faults.prefetch_ps + machine.faults.prefetch_block_ps;
  return static_cast<std::uint64_t>(begin_ps * machine.link.bytes_per_s / kPicosecondsPerSecond);
}

bool overlap(const trace::HostStep& step, const trace::Allocation& one) {
  return step.address < one.address + one.size_bytes &&
         one.address < step.address + step.size_bytes;
}

}  // namespace

HintedMemory::HintedMemory(const ModelledMachine& machine, const Options& options,
                           trace::Source& source, AddressMap& map, HostLink& link, Gmmu& gmmu,
                           std::function<void()> grow)
    : machine_(machine),
      options_(options),
      allocations_(source.program().allocations),
      map_(map),
      link_(link),
      gmmu_(gmmu),
      grow_(std::move(grow)),
      uses_(allocation_uses(source)),
      exists_(allocations_.size()) {
  if (!advised()) return;
  advice_ = advice_for(source.program(), uses_, call_bytes(machine), options.count_downloads);
}

void HintedMemory::count_advice(Result& result) const {
  for (std::size_t index = 0; index < advice_.size(); ++index) {
    if (uses_.of_allocation[index].requested_bytes == 0) continue;
    switch (advice_[index]) {
      case Advice::in_place:
        ++result.advised_in_place;
        break;
      case Advice::read_mostly:
        ++result.advised_read_mostly;
        break;
      case Advice::on_gpu:
        ++result.advised_on_gpu;
        break;
    }
  }
}

void HintedMemory::begin_launch(std::uint32_t launch, Picoseconds time_ps) {
  driver_ps_ = std::max(driver_ps_, time_ps);
  const std::uint64_t page_bytes = std::uint64_t{map_.lines_per_page()} * trace::kLineBytes;
  for (const std::uint32_t index : uses_.of_launch[launch]) {
    if (advised() && advice_[index] == Advice::in_place) continue;
    const trace::Allocation& allocation = allocations_[index];
    const std::uint64_t end = allocation.address + allocation.size_bytes;
    const bool must_be_made = advised() && !exists_[index];
    exists_[index] = true;
    const Picoseconds before = driver_ps_;
    driver_ps_ += machine_.faults.prefetch_ps;
    const Picoseconds begun = driver_ps_;
    for (std::uint64_t at = allocation.address; at < end;) {
      const std::uint64_t next = std::min(end, (at / page_bytes + 1) * page_bytes);
      const std::uint64_t line = at / trace::kLineBytes;
      map_.number_chunks({&line, 1});
      grow_();
      const auto size = static_cast<std::uint32_t>(next - at);
      if (!(must_be_made ? gmmu_.make(at, size) : bring(at, size))) return;
      at = next;
    }
    if (driver_ps_ == begun) driver_ps_ = before;  // nothing was on the CPU
  }
}

// False if there is no room.
bool HintedMemory::bring(std::uint64_t address, std::uint32_t size_bytes) {
  const FaultParameters& faults = machine_.faults;
  const std::uint64_t blocks = (address + size_bytes - 1) / kBlockBytes - address / kBlockBytes + 1;
  const Picoseconds start = driver_ps_ + blocks * faults.prefetch_block_ps;
  const auto brought = gmmu_.bring(address, size_bytes, start);
  if (!brought) return false;
  // A driver that takes no time puts all of it on the link at once.
  const bool is_free = faults.prefetch_ps == 0 && faults.prefetch_block_ps == 0;
  if (*brought != 0 && !is_free) driver_ps_ = start + link_.cost_ps(*brought, true);
  return true;
}

void HintedMemory::note(const trace::HostStep& step) {
  if (!trace::copies_to_gpu(step.kind)) return;
  for (std::size_t index = 0; index < allocations_.size(); ++index) {
    if (overlap(step, allocations_[index])) exists_[index] = true;
  }
}

std::uint64_t HintedMemory::cpu_accesses(const trace::HostStep& step) {
  const bool writes = trace::copies_to_gpu(step.kind);
  std::uint64_t back_bytes = 0;
  for (std::size_t index = 0; index < allocations_.size(); ++index) {
    const trace::Allocation& one = allocations_[index];
    if (!overlap(step, one)) continue;
    const Advice advice = advice_[index];
    if (advice == Advice::in_place || (advice == Advice::read_mostly && !writes)) continue;
    // The CPU faults page by page, and no page is of two allocations.
    const std::uint64_t begin = std::max(one.address, step.address / kPageBytes * kPageBytes);
    const std::uint64_t step_end = step.address + step.size_bytes;
    const std::uint64_t end = std::min(one.address + one.size_bytes,
                                       (step_end + kPageBytes - 1) / kPageBytes * kPageBytes);
    const std::uint64_t bytes = gmmu_.drop(begin, end - begin, advice == Advice::on_gpu);
    if (advice == Advice::on_gpu) back_bytes += bytes;
  }
  return back_bytes;
}

}  // namespace isthmus::sim

// Page faults: what a driver takes before their migrations start.
#include <algorithm>
#include <utility>

#include "sim/migration/gmmu.hpp"

namespace isthmus::sim {

void Gmmu::handle_fault(std::uint32_t migration) {
  const Picoseconds now = schedule_.now_ps() + query_ps_;
  const FaultParameters& faults = machine_.faults;
  const bool is_free = faults.latency_ps == 0 && faults.block_ps == 0 && faults.page_ps == 0 &&
                       faults.first_ps == 0 && faults.evict_ps == 0;
  if (is_free || faults.side_by_side()) {
    const bool by_lanes = faults.handling == FaultParameters::Handling::lanes;
    migrations_[migration].handled_ps = now + faults.latency_ps + (by_lanes ? faults.fetch_ps : 0);
    return make_room_and_transfer(migration);
  }
  faults_.push_back(migration);
  if (driver_is_busy_) return;
  driver_is_busy_ = true;
  schedule_.at(now, EventKind::faults, 0);
}

/// The driver takes the oldest faults as a batch, and handles one after the other. Those that arrive
/// meanwhile wait for the next batch.
void Gmmu::on_faults() {
  driver_is_busy_ = !faults_.empty();
  if (!driver_is_busy_) return;
  const FaultParameters& faults = machine_.faults;
  const bool one_by_one = faults.handling == FaultParameters::Handling::serial;
  const std::size_t most = one_by_one ? 1 : faults.batch_faults;
  Picoseconds done = schedule_.now_ps() + faults.latency_ps;
  if (std::exchange(is_first_batch_, false)) done += faults.first_ps;
  std::vector<std::uint64_t> blocks;
  ++result_.fault_batches;
  for (std::size_t left = std::min(most, faults_.size()); left != 0; --left) {
    const std::uint32_t migration = faults_.front();
    faults_.pop_front();
    done += driver_ps(migration, blocks);
    migrations_[migration].handled_ps = done;
    make_room_and_transfer(migration);
    // Those for migrations that had to wait for room count here, too.
    done += (result_.evictions - std::exchange(charged_evictions_, result_.evictions)) *
            faults.evict_ps;
  }
  schedule_.at(done, EventKind::faults, 0);
}

/// What a migration adds to its batch.
///
/// blocks      of the batch; the migration's are added
Picoseconds Gmmu::driver_ps(std::uint32_t index, std::vector<std::uint64_t>& blocks) {
  const Migration& migration = migrations_[index];
  const std::uint64_t address = page_address(migration.page);
  const std::size_t num_before = blocks.size();
  std::uint64_t num_pages = 0;
  for (const pages::Span span : migration.transfers) {
    const std::uint64_t first = address + span.offset_bytes;
    const std::uint64_t last = first + span.length_bytes - 1;
    num_pages += last / FaultParameters::kPageBytes - first / FaultParameters::kPageBytes + 1;
    for (std::uint64_t block = first / FaultParameters::kBlockBytes;
         block <= last / FaultParameters::kBlockBytes; ++block) {
      if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
    }
  }
  result_.fault_blocks += blocks.size() - num_before;
  result_.fault_pages += num_pages;
  return (blocks.size() - num_before) * machine_.faults.block_ps +
         num_pages * machine_.faults.page_ps;
}

}  // namespace isthmus::sim

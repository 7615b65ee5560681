// Page faults: what a driver takes before their migrations start.
// What a program brings to the GPU beforehand, and what leaves it again, without a fault.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/migration/gmmu.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

void Gmmu::handle_fault(std::uint32_t migration) {
  const Picoseconds now = schedule_.now_ps() + query_ps_;
  const FaultParameters& faults = machine_.faults;
  const bool is_free = faults.latency_ps == 0 && faults.block_ps == 0 && faults.page_ps == 0 &&
                       faults.first_ps == 0 && faults.evict_ps == 0;
  if (is_free || side_by_side(faults.handling)) {
    const bool by_lanes = faults.handling == Handling::lanes;
    migrations_[migration].handled_ps = now + faults.latency_ps + (by_lanes ? faults.fetch_ps : 0);
    return occupy_and_transfer(migration);
  }
  faults_.push_back(migration);
  if (driver_is_busy_) return;
  driver_is_busy_ = true;
  schedule_.at(now, EventKind::faults, 0);
}

bool Gmmu::is_crowded() const {
  return evicts_within_batches() && pages_on_their_way_ * page_bytes() > memory_bytes_;
}

/// The driver takes the oldest faults as a batch, and handles one after the other. Those that arrive
/// meanwhile wait for the next batch.
void Gmmu::on_faults() {
  driver_is_busy_ = !faults_.empty();
  if (!driver_is_busy_) return;
  // The driver repeats the accesses of a batch before it takes the next one. Else that one could
  // evict what this one has brought before it is used, and so on for ever.
  const bool crowded = is_crowded();
  batch_waits_for_arrivals_ = crowded && transferring_ != 0;
  if (batch_waits_for_arrivals_) return;
  const FaultParameters& faults = machine_.faults;
  Picoseconds start = schedule_.now_ps() + faults.latency_ps;
  if (std::exchange(is_first_batch_, false)) start += faults.first_ps;
  ++result_.fault_batches;
  std::vector<std::uint32_t> batch = take_batch(crowded);
  schedule_.at(handle_batch(batch, crowded, start), EventKind::faults, 0);
}

// Where more pages wait than fit, each waiting request has an entry of the batch: NVIDIA's driver
// counts entries of the same page before it merges them (fetch_fault_buffer_entries in
// uvm_gpu_replayable_faults.c). Elsewhere a page counts once: which of its accesses come within the
// batch hangs on the order of their arrival, which isn't known (benchmarks/sim/README.md).
std::vector<std::uint32_t> Gmmu::take_batch(bool crowded) {
  const FaultParameters& faults = machine_.faults;
  const bool one_by_one = faults.handling == Handling::serial;
  std::vector<std::uint32_t> batch;
  for (std::size_t left = one_by_one ? 1 : faults.batch_faults; left != 0 && !faults_.empty();) {
    const std::uint32_t migration = faults_.front();
    const std::size_t entries = crowded ? migrations_[migration].waiters.size : 1;
    left -= std::clamp<std::size_t>(entries, 1, left);
    batch.push_back(migration);
    faults_.pop_front();
  }
  return batch;
}

// Where the pages of all faults fit, the order within a batch only decides which of them comes first.
// Where they don't, the driver's order counts: by address, each page evicting the one that was used
// least recently, even if this batch has brought it. Source: NVIDIA open-gpu-kernel-modules
// 595.45.04, uvm_gpu_replayable_faults.c, uvm_pmm_gpu.c.
Picoseconds Gmmu::handle_batch(std::vector<std::uint32_t>& batch, bool crowded,
                               Picoseconds time_ps) {
  if (crowded) {
    std::ranges::stable_sort(batch, {}, [this](std::uint32_t migration) {
      return page_address(migrations_[migration].page);
    });
  }
  std::vector<std::uint64_t> blocks;
  for (std::size_t place = 0; place < batch.size(); ++place) {
    const std::uint32_t migration = batch[place];
    if (table_.page(migrations_[migration].slot).epoch != migrations_[migration].epoch) {
      fault_again(batch, place);
      continue;
    }
    time_ps += driver_ps(migration, blocks);
    migrations_[migration].handled_ps = time_ps;
    occupy_and_transfer(migration, crowded ? pages::InFlight::leaves : pages::InFlight::stays);
    // Those for migrations that had to wait for room count here, too.
    time_ps += (result_.evictions - std::exchange(charged_evictions_, result_.evictions)) *
               machine_.faults.evict_ps;
  }
  return time_ps;
}

void Gmmu::fault_again(std::vector<std::uint32_t>& batch, std::size_t place) {
  const std::uint32_t index = batch[place];
  const std::uint32_t buffer = migrations_[index].buffer;
  leave_buffer(index);
  const auto num_queued = static_cast<std::ptrdiff_t>(faults_.size());
  serve_waiters(index);
  batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(place) + 1, faults_.begin() + num_queued,
               faults_.end());
  faults_.erase(faults_.begin() + num_queued, faults_.end());
  if (options_.merged_waiters == MergedWaiters::take_entries) return serve_all_blocked();
  serve_blocked(buffer);
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
    num_pages += last / kPageBytes - first / kPageBytes + 1;
    for (std::uint64_t block = first / kBlockBytes; block <= last / kBlockBytes; ++block) {
      if (std::ranges::find(blocks, block) == blocks.end()) blocks.push_back(block);
    }
  }
  result_.fault_blocks += blocks.size() - num_before;
  result_.fault_pages += num_pages;
  return (blocks.size() - num_before) * machine_.faults.block_ps +
         num_pages * machine_.faults.page_ps;
}

bool Gmmu::has_frame(std::uint32_t page) const {
  return page < slot_of_page_.size() && slot_of_page_[page] != kNone;
}

std::optional<std::uint64_t> Gmmu::bring(std::uint64_t address, std::uint32_t size_bytes,
                                         Picoseconds time_ps) {
  const std::uint32_t page = map_.page_at(address);
  const bool is_new = !has_frame(page);
  if (is_new && eviction_->framed_bytes() + page_bytes() > memory_bytes_) return std::nullopt;
  if (residency_.valid(map_.first_line(page)) && is_new) return 0;  // it never migrates
  const pages::Answer answer = table_.request(address, size_bytes, false);
  note_page(answer.slot, page);
  if (answer.transfers.empty()) return 0;
  const auto buffer = static_cast<std::uint32_t>(entries_used_.size() - 1);
  const std::uint32_t migration = start(answer, page, buffer);
  const std::uint64_t bytes = migrations_[migration].size_bytes;
  migrations_[migration].handled_ps = std::max(time_ps, schedule_.now_ps());
  occupy_and_transfer(migration);
  return bytes;
}

bool Gmmu::make(std::uint64_t address, std::uint32_t size_bytes) {
  const std::uint32_t page = map_.page_at(address);
  const bool is_new = !has_frame(page);
  if (is_new && eviction_->framed_bytes() + page_bytes() > memory_bytes_) return false;
  if (residency_.valid(map_.first_line(page)) && is_new) return true;
  const pages::Answer answer = table_.request(address, size_bytes, false);
  note_page(answer.slot, page);
  for (const pages::Span span : answer.transfers) {
    eviction_->started(answer.slot, span);
    table_.arrived(answer.slot, answer.epoch, span);
    const auto first = static_cast<std::uint32_t>(span.offset_bytes / trace::kLineBytes);
    residency_.make_valid_here(map_.first_line(page) + first, lines_of(span));
  }
  return true;
}

std::uint64_t Gmmu::drop(std::uint64_t address, std::uint64_t size_bytes, bool go_back) {
  std::uint64_t dropped = 0;
  std::uint64_t last_block = ~std::uint64_t{0};
  const std::uint64_t page_bytes = this->page_bytes();
  const std::uint64_t unit = table_.policy().unit_bytes;
  for_placed_pages(address, size_bytes, [&](std::uint64_t page_address) {
    const std::uint32_t page = map_.page_at(page_address);
    if (!has_frame(page)) return;
    // With something on its way, a page goes as a whole: what arrives then was in vain.
    const bool whole = on_their_way_[page] != 0;
    const std::uint64_t first_byte = whole ? page_address : std::max(address, page_address);
    const std::uint64_t begin = first_byte / unit * unit;
    const std::uint64_t end = whole ? page_address + page_bytes
                                    : std::min(address + size_bytes, page_address + page_bytes);
    const pages::Span part{static_cast<std::uint32_t>(begin - page_address),
                           static_cast<std::uint32_t>((end - begin + unit - 1) / unit * unit)};
    const std::uint32_t slot = slot_of_page_[page];
    const std::uint32_t bytes = table_.evict(slot, part);
    if (bytes == 0) return;
    const auto first = static_cast<std::uint32_t>(part.offset_bytes / trace::kLineBytes);
    residency_.make_invalid(map_.first_line(page) + first, lines_of(part));
    residency_.leave(page);
    if (table_.page(slot).planned_bytes == 0) eviction_->left(slot);
    if (go_back) {
      ++result_.cpu_requests;
      count_returned(page_address + part.offset_bytes, bytes, last_block);
    }
    dropped += bytes;
  });
  if (go_back) result_.traffic.returned_to_cpu += dropped;
  return dropped;
}

}  // namespace isthmus::sim

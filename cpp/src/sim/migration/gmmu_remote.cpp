// What crosses the link without a fault: the GPU's accesses to the CPU's memory, and the CPU's.
#include <algorithm>
#include <bit>

#include "sim/migration/gmmu.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

constexpr std::uint64_t kFirstPieceBytes = 65536;

// The page faults of a CPU that reads a block from its begin. NVIDIA's driver moves 64 KiB by the
// first, and by each further one as much again as is already there (uvm_perf_prefetch.c).
std::uint64_t faults_in_block(std::uint64_t size_bytes) {
  if (size_bytes == 0) return 0;
  const std::uint64_t pieces = (size_bytes + kFirstPieceBytes - 1) / kFirstPieceBytes;
  return 1 + static_cast<std::uint64_t>(std::bit_width(pieces - 1));
}

}  // namespace

// Over the link, bypassing L2, which caches host memory only if the link is coherent.
void Gmmu::serve_remotely(const Waiting& waiting) {
  note_use(Use::in_place, waiting.request.place.line(), trace::kLineBytes);
  if (machine_.link.coherent) return serve_coherently(waiting);
  const Picoseconds now = schedule_.now_ps() + query_ps_;
  if (waiting.request.kind == EventKind::store) {
    result_.traffic.remote_to_cpu += trace::kLineBytes;
    return cores_.stored(waiting.request, link_.to_cpu(now, trace::kLineBytes));
  }
  result_.traffic.remote_to_gpu += trace::kLineBytes;
  const Picoseconds back = machine_.network.latency_cycles * cycle_ps(machine_.cores.clock_hz);
  const Picoseconds done = link_.to_gpu(now, trace::kLineBytes) + back;
  cores_.served(waiting.request.core, waiting.request.waiter, {done, done - waiting.since_ps});
}

// Through the partition's port, and over the link unless L2 has the line.
void Gmmu::serve_coherently(const Waiting& waiting) {
  const LineRequest& request = waiting.request;
  const Picoseconds now = schedule_.now_ps() + query_ps_;
  const std::uint32_t generation = residency_.generation(map_.page_of(request.place.line()));
  if (request.kind == EventKind::store) {
    result_.traffic.remote_to_cpu += trace::kLineBytes;
    const Picoseconds through = partitions_.pass_to_cpu(request.place, generation, now);
    return cores_.stored(request, link_.to_cpu(through, trace::kLineBytes));
  }
  Picoseconds waited = now - waiting.since_ps;
  const auto fetch = [&](Picoseconds through) {
    result_.traffic.remote_to_gpu += trace::kLineBytes;
    const Picoseconds arrived = link_.to_gpu(through, trace::kLineBytes);
    waited += arrived - through;
    return arrived;
  };
  Picoseconds done = 0;
  if (request.kind == EventKind::atomic) {
    done = fetch(partitions_.pass_to_cpu(request.place, generation, now)) + partitions_.return_ps();
  } else {
    done = partitions_.load_remote(request.place, generation, now, fetch);
  }
  cores_.served(request.core, request.waiter, {done, waited});
}

// Until the driver begins a migration in the background, its lines are where they were.
void Gmmu::wait_for(std::uint32_t migration, const Waiting& waiting) {
  if (migrates_in_background_ && schedule_.now_ps() < migrations_[migration].handled_ps) {
    return serve_remotely(waiting);
  }
  Waiting held = waiting;
  if (options_.merged_waiters == MergedWaiters::take_entries) {
    const std::uint32_t buffer = buffer_of(waiting.request);
    if (entries_used_[buffer] >= machine_.gmmu.buffer_entries) {
      ++result_.buffer_waits;
      return append(blocked_[buffer], waiting);
    }
    ++entries_used_[buffer];
    held.has_entry = true;
  }
  ++result_.waits;
  append(migrations_[migration].waiters, held);
}

std::uint64_t Gmmu::cpu_access(std::uint64_t address, std::uint64_t size_bytes, bool writes) {
  std::uint64_t lines_here = 0;
  if (size_bytes == 0) return 0;
  for_placed_pages(address, size_bytes, [&](std::uint64_t page_address) {
    const std::uint32_t page = map_.page_at(page_address);
    const std::uint64_t first = std::max(address, page_address) / trace::kLineBytes;
    const std::uint64_t page_end = page_address / trace::kLineBytes + map_.lines_per_page();
    const std::uint64_t end =
        std::min(page_end, (address + size_bytes - 1) / trace::kLineBytes + 1);
    const auto in_page = static_cast<std::uint32_t>(first - page_address / trace::kLineBytes);
    std::uint64_t here = 0;
    for (std::uint64_t line = 0; line < end - first; ++line) {
      here += residency_.valid(map_.first_line(page) + in_page + static_cast<std::uint32_t>(line));
    }
    lines_here += here;
    if (writes && here != end - first) residency_.leave(page);
  });
  return lines_here * trace::kLineBytes;
}

std::uint64_t Gmmu::cpu_request(std::uint64_t address, std::uint64_t size_bytes) {
  std::uint64_t back_bytes = 0;
  std::uint64_t last_block = ~std::uint64_t{0};
  for_placed_pages(address, size_bytes, [&](std::uint64_t page_address) {
    const std::uint32_t bytes = take_page_back(page_address);
    count_returned(page_address, bytes, last_block);
    back_bytes += bytes;
  });
  result_.traffic.returned_to_cpu += back_bytes;
  return back_bytes;
}

void Gmmu::count_returned(std::uint64_t address, std::uint64_t size_bytes,
                          std::uint64_t& last_block) {
  if (size_bytes == 0) return;
  const std::uint64_t first = address / kBlockBytes;
  const std::uint64_t last = (address + size_bytes - 1) / kBlockBytes;
  result_.returned_blocks += last - first + (first == last_block ? 0 : 1);
  last_block = last;
  constexpr std::uint64_t block_bytes = kBlockBytes;
  result_.returned_faults += size_bytes / block_bytes * faults_in_block(block_bytes) +
                             faults_in_block(size_bytes % block_bytes);
  result_.returned_pages += (size_bytes + kPageBytes - 1) / kPageBytes;
}

std::uint32_t Gmmu::take_page_back(std::uint64_t address) {
  const std::uint32_t page = map_.page_at(address);
  if (page == AddressMap::kNoPage || page >= slot_of_page_.size()) return 0;
  if (slot_of_page_[page] == kNone) return 0;
  const std::uint32_t bytes = table_.cpu_request(table_.page_number_of(address));
  if (bytes == 0) return 0;
  ++result_.cpu_requests;
  residency_.make_invalid(map_.first_line(page), map_.lines_per_page());
  residency_.leave(page);
  if (eviction_ != nullptr) eviction_->left(slot_of_page_[page]);
  return bytes;
}

}  // namespace isthmus::sim

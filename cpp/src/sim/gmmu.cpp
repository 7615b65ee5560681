#include "sim/gmmu.hpp"

#include <algorithm>
#include <stdexcept>

#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

constexpr auto kLineBytes = static_cast<std::uint32_t>(trace::kLineBytes);

std::unique_ptr<pages::Eviction> make_eviction(const ModelledMachine& machine,
                                               const Options& options, pages::PageTable& table) {
  if (options.mode != Mode::migrate) return nullptr;
  pages::EvictionPolicy policy = options.eviction;
  if (policy.limit_bytes == 0) policy.limit_bytes = machine.partitions.memory_bytes;
  return std::make_unique<pages::Eviction>(policy, table);
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): the parts of a run that it works with
Gmmu::Gmmu(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
           const Options& options, const AddressMap& map, Residency& residency, Schedule& schedule,
           Cores& cores, HostLink& link, Result& result, Observer* observer)
    : machine_(machine),
      options_(options),
      map_(map),
      residency_(residency),
      schedule_(schedule),
      cores_(cores),
      link_(link),
      result_(result),
      observer_(observer),
      partitions_(machine, result.caches),
      table_(policy),
      eviction_(make_eviction(machine, options, table_)),
      query_ps_(options.mode == Mode::migrate
                    ? machine.gmmu.query_cycles * cycle_ps(machine.cores.clock_hz)
                    : 0),
      one_buffer_(options.buffer_scope == BufferScope::total),
      remote_only_(policy.kind == pages::PolicyKind::zero_copy),
      migrates_in_background_(machine.link.coherent &&
                              policy.kind == pages::PolicyKind::access_counter),
      counts_accesses_(eviction_ != nullptr && eviction_->wants_accesses()) {
  entries_used_.assign((one_buffer_ ? 1 : machine.partitions.count) + 1, 0);
  blocked_.resize(entries_used_.size());
}

// Served by L2 and DRAM: its data is resident.
void Gmmu::serve(const LineRequest& request, Picoseconds time_ps, Picoseconds migration_ps) {
  const std::uint32_t line = request.place.line();
  const std::uint32_t page = map_.page_of(line);
  const std::uint32_t generation = residency_.generation(page);
  if (residency_.touch(line)) {
    const bool local = map_.real_line(line) >= kLocalBase / kLineBytes;
    ++(local ? touched_local_lines_ : touched_global_lines_);
  }
  if (counts_accesses_ && page < slot_of_page_.size() && slot_of_page_[page] != kNone) {
    eviction_->used(slot_of_page_[page], (line & (map_.lines_per_page() - 1)) * kLineBytes);
  }
  if (request.kind == EventKind::store) {
    ++stores_done_;
    const Picoseconds done = partitions_.store(request.place, generation, time_ps);
    last_store_ps_ = std::max(last_store_ps_, done);
    return;
  }
  const bool changes = request.kind == EventKind::atomic;
  const Picoseconds done = partitions_.load(request.place, generation, time_ps, changes);
  cores_.served(request.core, request.waiter, {done, migration_ps});
}

void Gmmu::ask(const Waiting& waiting) {
  const std::uint32_t line = waiting.request.place.line();
  const std::uint32_t page = map_.page_of(line);
  const std::uint32_t buffer = buffer_of(waiting.request);
  // Counters count what crosses the link.
  if (machine_.link.coherent && waiting.request.kind == EventKind::load &&
      partitions_.has_remote(waiting.request.place, residency_.generation(page))) {
    return serve_coherently(waiting);
  }
  if (const std::uint32_t migration = migration_of_line_.at(line);
      migration != MigrationMap::kNone) {
    return wait_for(migration, waiting);
  }
  if (must_wait_for_entry(buffer)) {
    if (migrates_in_background_) return serve_remotely(waiting);
    ++result_.buffer_waits;
    return append(blocked_[buffer], waiting);
  }
  answer(waiting, page);
}

bool Gmmu::must_wait_for_entry(std::uint32_t buffer) const {
  if (remote_only_) return false;
  return entries_used_[buffer] >= machine_.gmmu.buffer_entries || somebody_waits_for_room();
}

void Gmmu::answer(const Waiting& waiting, std::uint32_t page) {
  const LineRequest& request = waiting.request;
  const std::uint64_t address = map_.real_line(request.place.line()) * kLineBytes;
  const bool is_write = request.kind == EventKind::store;
  const pages::Answer answer = table_.request(address, kLineBytes, is_write);
  note_page(answer.slot, page);
  std::uint32_t migration = kNone;
  if (!answer.transfers.empty()) migration = start(answer, page, buffer_of(request));
  switch (answer.outcome) {
    case pages::Outcome::hit:
      validate_without_fetch(waiting, answer);
      break;
    case pages::Outcome::wait:
      wait_for(migration_to_wait_for(request.place.line(), page), waiting);
      break;
    case pages::Outcome::migrate:
      append(migrations_[migration].waiters, waiting);
      break;
    case pages::Outcome::remote:
      serve_remotely(waiting);
      break;
  }
  if (migration != kNone) {
    migrations_[migration].handled_ps = fault_done_ps();
    make_room_and_transfer(migration);
  }
}

bool Gmmu::bring(std::uint64_t address, std::uint32_t size_bytes, Picoseconds time_ps) {
  const std::uint32_t page = map_.page_at(address);
  const std::uint64_t page_bytes = std::uint64_t{map_.lines_per_page()} * kLineBytes;
  const bool is_new = page >= slot_of_page_.size() || slot_of_page_[page] == kNone;
  const std::uint64_t limit_bytes = options_.eviction.limit_bytes != 0
                                        ? options_.eviction.limit_bytes
                                        : machine_.partitions.memory_bytes;
  if (is_new && eviction_->framed_bytes() + page_bytes > limit_bytes) return false;
  if (residency_.valid(map_.first_line(page)) && is_new) return true;  // it never migrates
  const pages::Answer answer = table_.request(address, size_bytes, false);
  note_page(answer.slot, page);
  if (answer.transfers.empty()) return true;
  const auto buffer = static_cast<std::uint32_t>(entries_used_.size() - 1);
  const std::uint32_t migration = start(answer, page, buffer);
  migrations_[migration].handled_ps = std::max(time_ps, schedule_.now_ps());
  make_room_and_transfer(migration);
  return true;
}

void Gmmu::note_page(std::uint32_t slot, std::uint32_t page) {
  if (page >= slot_of_page_.size()) {
    const std::size_t pages_in_chunk = map_.lines_per_chunk() / map_.lines_per_page();
    slot_of_page_.resize(map_.num_chunks() * pages_in_chunk, kNone);
    last_migration_.resize(slot_of_page_.size(), kNone);
  }
  slot_of_page_[page] = slot;
  if (slot >= page_of_slot_.size()) page_of_slot_.resize(slot + 1, kNone);
  page_of_slot_[slot] = page;
}

// Until the driver begins a migration in the background, its lines are where they were.
void Gmmu::wait_for(std::uint32_t migration, const Waiting& waiting) {
  if (migrates_in_background_ && schedule_.now_ps() < migrations_[migration].handled_ps) {
    return serve_remotely(waiting);
  }
  ++result_.waits;
  append(migrations_[migration].waiters, waiting);
}

// The requested line is in flight. The migration that brings it is known unless another one
// replaced it as the line's migration.
std::uint32_t Gmmu::migration_to_wait_for(std::uint32_t line, std::uint32_t page) const {
  const std::uint32_t known = migration_of_line_.at(line);
  if (known != MigrationMap::kNone) return known;
  const std::uint32_t last = last_migration_[page];
  if (last != kNone && migrations_[last].active && migrations_[last].page == page) return last;
  for (std::uint32_t index = 0; index < migrations_.size(); ++index) {
    if (migrations_[index].active && migrations_[index].page == page) return index;
  }
  throw std::logic_error("the page table says that something is on its way, and nothing is");
}

// A write that needs no fetch needs a frame: it waits until there is one.
void Gmmu::validate_without_fetch(const Waiting& waiting, const pages::Answer& answer) {
  const std::uint32_t line = waiting.request.place.line();
  Picoseconds start = schedule_.now_ps() + query_ps_;
  if (eviction_ != nullptr) {
    const std::uint32_t in_page = line & (map_.lines_per_page() - 1);
    eviction_->started(answer.slot, {in_page * kLineBytes, kLineBytes});
    const auto room = make_room(answer.slot);
    if (!room) return writes_waiting_for_room_.push_back(waiting);
    start = std::max(start, *room);
  }
  residency_.make_valid(line, 1);
  serve(waiting.request, start, start - query_ps_ - waiting.since_ps);
}

// Over the link, bypassing L2, which caches host memory only if the link is coherent.
void Gmmu::serve_remotely(const Waiting& waiting) {
  if (machine_.link.coherent) return serve_coherently(waiting);
  const Picoseconds now = schedule_.now_ps() + query_ps_;
  if (waiting.request.kind == EventKind::store) {
    result_.traffic.remote_to_cpu += kLineBytes;
    last_store_ps_ = std::max(last_store_ps_, link_.to_cpu(now, kLineBytes));
    ++stores_done_;
    return;
  }
  result_.traffic.remote_to_gpu += kLineBytes;
  const Picoseconds back = machine_.network.latency_cycles * cycle_ps(machine_.cores.clock_hz);
  const Picoseconds done = link_.to_gpu(now, kLineBytes) + back;
  cores_.served(waiting.request.core, waiting.request.waiter, {done, done - waiting.since_ps});
}

// Through the partition's port, and over the link unless L2 has the line.
void Gmmu::serve_coherently(const Waiting& waiting) {
  const LineRequest& request = waiting.request;
  const Picoseconds now = schedule_.now_ps() + query_ps_;
  const std::uint32_t generation = residency_.generation(map_.page_of(request.place.line()));
  if (request.kind == EventKind::store) {
    result_.traffic.remote_to_cpu += kLineBytes;
    const Picoseconds through = partitions_.pass_to_cpu(request.place, generation, now);
    last_store_ps_ = std::max(last_store_ps_, link_.to_cpu(through, kLineBytes));
    ++stores_done_;
    return;
  }
  Picoseconds waited = now - waiting.since_ps;
  const auto fetch = [&](Picoseconds through) {
    result_.traffic.remote_to_gpu += kLineBytes;
    const Picoseconds arrived = link_.to_gpu(through, kLineBytes);
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

bool Gmmu::starts_resident(std::uint32_t chunk) {
  if (options_.mode != Mode::migrate) return true;
  const std::uint64_t address = map_.chunk_address(chunk);
  if (address >= kLocalBase) return options_.local_memory == LocalMemory::resident;
  return options_.initially == Initially::on_gpu;
}

template <class Visit>
void Gmmu::for_placed_pages(std::uint64_t address, std::uint64_t size_bytes, Visit&& visit) const {
  const std::uint64_t page_bytes = std::uint64_t{map_.lines_per_page()} * kLineBytes;
  const std::uint64_t chunk_bytes = std::uint64_t{map_.lines_per_chunk()} * kLineBytes;
  const std::uint64_t begin = address / page_bytes * page_bytes;
  const std::uint64_t end = address + size_bytes;
  for (const std::uint64_t chunk : map_.placed_chunks(begin, end)) {
    const std::uint64_t chunk_end = std::min(end, chunk + chunk_bytes);
    for (std::uint64_t at = std::max(begin, chunk); at < chunk_end; at += page_bytes) {
      visit(at);
    }
  }
}

std::uint64_t Gmmu::cpu_access(std::uint64_t address, std::uint64_t size_bytes, bool writes) {
  std::uint64_t lines_here = 0;
  if (size_bytes == 0) return 0;
  for_placed_pages(address, size_bytes, [&](std::uint64_t page_address) {
    const std::uint32_t page = map_.page_at(page_address);
    const std::uint64_t first = std::max(address, page_address) / kLineBytes;
    const std::uint64_t page_end = page_address / kLineBytes + map_.lines_per_page();
    const std::uint64_t end = std::min(page_end, (address + size_bytes - 1) / kLineBytes + 1);
    const auto in_page = static_cast<std::uint32_t>(first - page_address / kLineBytes);
    std::uint64_t here = 0;
    for (std::uint64_t line = 0; line < end - first; ++line) {
      here += residency_.valid(map_.first_line(page) + in_page + static_cast<std::uint32_t>(line));
    }
    lines_here += here;
    if (writes && here != end - first) residency_.leave(page);
  });
  return lines_here * kLineBytes;
}

std::uint64_t Gmmu::cpu_request(std::uint64_t address, std::uint64_t size_bytes) {
  std::uint64_t back_bytes = 0;
  for_placed_pages(address, size_bytes,
                   [&](std::uint64_t page_address) { back_bytes += take_page_back(page_address); });
  result_.traffic.returned_to_cpu += back_bytes;
  return back_bytes;
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

void Gmmu::count_ranges() {
  for (std::uint32_t slot = 0; slot < table_.num_slots(); ++slot) {
    const std::uint32_t ranges = table_.num_ranges(slot);
    if (ranges == 0) continue;
    if (ranges >= result_.ranges_per_page.size()) result_.ranges_per_page.resize(ranges + 1, 0);
    ++result_.ranges_per_page[ranges];
  }
}

}  // namespace isthmus::sim

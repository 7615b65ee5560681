#include "sim/migration/gmmu.hpp"

#include <algorithm>
#include <stdexcept>

#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

constexpr auto kLineBytes = static_cast<std::uint32_t>(trace::kLineBytes);

std::uint64_t memory_of(const ModelledMachine& machine, const Options& options) {
  return options.eviction.limit_bytes != 0 ? options.eviction.limit_bytes
                                           : machine.partitions.memory_bytes;
}

std::unique_ptr<pages::OwnRun> make_own(const ModelledMachine& machine,
                                        const pages::MigrationPolicy& policy,
                                        const Options& options) {
  if (policy.kind != pages::PolicyKind::own || options.own == nullptr) return nullptr;
  return std::make_unique<pages::OwnRun>(*options.own, policy, memory_of(machine, options));
}

std::unique_ptr<pages::Eviction> make_eviction(const ModelledMachine& machine,
                                               const Options& options, pages::PageTable& table,
                                               pages::OwnRun* own) {
  if (options.mode != Mode::migrate) return nullptr;
  pages::EvictionPolicy policy = options.eviction;
  policy.limit_bytes = memory_of(machine, options);
  return std::make_unique<pages::Eviction>(policy, table, own);
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
      own_(make_own(machine, policy, options)),
      table_(policy, own_.get()),
      eviction_(make_eviction(machine, options, table_, own_.get())),
      query_ps_(options.mode == Mode::migrate
                    ? machine.gmmu.query_cycles * cycle_ps(machine.cores.clock_hz)
                    : 0),
      change_ps_(machine.gmmu.change_cycles * cycle_ps(machine.cores.clock_hz)),
      memory_bytes_(memory_of(machine, options)),
      one_buffer_(options.buffer_scope == BufferScope::total),
      advised_(options.mode == Mode::migrate && options.hints == Hints::advise),
      remote_only_(policy.kind == pages::PolicyKind::zero_copy || advised_),
      migrates_in_background_(machine.link.coherent &&
                              policy.kind == pages::PolicyKind::access_counter),
      counts_accesses_((eviction_ != nullptr && eviction_->wants_accesses()) ||
                       (own_ != nullptr && own_->wants_hits())) {
  entries_used_.assign((one_buffer_ ? 1 : machine.partitions.count) + 1, 0);
  blocked_.resize(entries_used_.size());
}

// Served by L2 and DRAM: its data is resident.
void Gmmu::serve(const LineRequest& request, Picoseconds time_ps, Picoseconds migration_ps) {
  const std::uint32_t line = request.place.line();
  const std::uint32_t page = map_.page_of(line);
  if (migration_ps != 0) note_use(Use::waited, line, migration_ps);
  const std::uint32_t generation = residency_.generation(page);
  if (residency_.touch(line)) {
    note_use(Use::touched, line, kLineBytes);
    const bool local = map_.real_line(line) >= kLocalBase / kLineBytes;
    ++(local ? touched_local_lines_ : touched_global_lines_);
  }
  if (counts_accesses_ && has_frame(page)) count_access(request);
  if (request.kind == EventKind::store) {
    return cores_.stored(request, partitions_.store(request.place, generation, time_ps));
  }
  const bool changes = request.kind == EventKind::atomic;
  const Picoseconds done = partitions_.load(request.place, generation, time_ps, changes);
  cores_.served(request.core, request.waiter, {done, migration_ps});
}

void Gmmu::count_access(const LineRequest& request) {
  const std::uint32_t line = request.place.line();
  const std::uint32_t slot = slot_of_page_[map_.page_of(line)];
  const std::uint32_t offset_bytes = (line & (map_.lines_per_page() - 1)) * kLineBytes;
  if (eviction_->wants_accesses()) eviction_->used(slot, offset_bytes);
  if (own_ == nullptr || !own_->wants_hits()) return;
  const std::uint32_t is_write = request.kind == EventKind::store ? 1 : 0;
  own_->on_access({table_.page_number(slot), offset_bytes, kLineBytes, is_write, 1, {}, {}});
}

void Gmmu::ask(const Waiting& waiting) {
  cores_.charge(waiting.request);
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
  const bool is_too_much = would_fill_memory(page);
  if (is_too_much || must_wait_for_entry(buffer)) {
    if (migrates_in_background_) return serve_remotely(waiting);
    somebody_waits_for_memory_ = somebody_waits_for_memory_ || is_too_much;
    ++result_.buffer_waits;
    return append(blocked_[buffer], waiting);
  }
  answer(waiting, page);
}

bool Gmmu::must_wait_for_entry(std::uint32_t buffer) const {
  if (remote_only_) return false;
  return entries_used_[buffer] >= machine_.gmmu.buffer_entries || somebody_waits_for_room();
}

// While faults are queued, their pages can't be evicted: if they were more than fit, nothing could
// go on. A batch of faults evicts them.
bool Gmmu::would_fill_memory(std::uint32_t page) const {
  if (pages_on_their_way_ == 0 || remote_only_ || evicts_within_batches()) return false;
  if (side_by_side(machine_.faults.handling)) return false;
  if (page < on_their_way_.size() && on_their_way_[page] != 0) return false;
  return (pages_on_their_way_ + 1) * page_bytes() > memory_bytes_;
}

void Gmmu::answer(const Waiting& waiting, std::uint32_t page) {
  if (advised_) return serve_remotely(waiting);
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
    handle_fault(migration);
  }
}

void Gmmu::note_page(std::uint32_t slot, std::uint32_t page) {
  if (page >= slot_of_page_.size()) {
    const std::size_t pages_in_chunk = map_.lines_per_chunk() / map_.lines_per_page();
    slot_of_page_.resize(map_.num_chunks() * pages_in_chunk, kNone);
    last_migration_.resize(slot_of_page_.size(), kNone);
    on_their_way_.resize(slot_of_page_.size(), 0);
  }
  slot_of_page_[page] = slot;
  if (slot >= page_of_slot_.size()) page_of_slot_.resize(slot + 1, kNone);
  page_of_slot_[slot] = page;
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
    const auto room = make_room(answer.slot, pages::InFlight::stays);
    if (!room) return writes_waiting_for_room_.push_back(waiting);
    start = std::max(start, *room);
  }
  start += change_ps_;
  residency_.make_valid_here(line, 1);
  changed_range(map_.page_of(line));
  serve(waiting.request, start, start - query_ps_ - waiting.since_ps);
}

bool Gmmu::starts_resident(std::uint32_t chunk) {
  if (options_.mode != Mode::migrate) return true;
  const std::uint64_t address = map_.chunk_address(chunk);
  if (address >= kLocalBase) return options_.local_memory == LocalMemory::resident;
  return options_.initially == Initially::on_gpu;
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

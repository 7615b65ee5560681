// Migrations: from the fault to the arrival, and making room for them.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>

#include "sim/migration/gmmu.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

std::string hexadecimal(std::uint64_t address) {
  std::array<char, 19> text{};
  std::snprintf(text.data(), text.size(), "0x%" PRIx64, address);
  return text.data();
}

}  // namespace

std::uint32_t Gmmu::start(const pages::Answer& answer, std::uint32_t page, std::uint32_t buffer) {
  const std::uint32_t index = new_migration();
  Migration& migration = migrations_[index];
  migration.slot = answer.slot;
  migration.epoch = answer.epoch;
  migration.page = page;
  migration.buffer = buffer;
  migration.stream = cores_.ledger().charged();
  migration.size_bytes = 0;
  migration.since_ps = schedule_.now_ps();
  migration.handled_ps = kNever;
  migration.waiters = {};
  migration.active = true;
  migration.transfers.assign(answer.transfers.begin(), answer.transfers.end());
  for (const pages::Span span : migration.transfers) {
    migration.size_bytes += span.length_bytes;
    const std::uint32_t first =
        map_.first_line(page) + static_cast<std::uint32_t>(span.offset_bytes / trace::kLineBytes);
    note_use(Use::migrated, first, span.length_bytes);
    note_use(Use::transfer, first, 1);
    if (table_.policy().merge) migration_of_line_.set(first, lines_of(span), index);
  }
  last_migration_[page] = index;
  if (on_their_way_[page]++ == 0) ++pages_on_their_way_;
  ++entries_used_[buffer];
  ++under_way_;
  ++result_.migrations;
  result_.transfers += migration.transfers.size();
  result_.traffic.migrated_to_gpu += migration.size_bytes;
  return index;
}

void Gmmu::occupy_and_transfer(std::uint32_t index, pages::InFlight in_flight) {
  const Migration& migration = migrations_[index];
  for (const pages::Span span : migration.transfers) eviction_->started(migration.slot, span);
  make_room_and_transfer(index, in_flight);
}

void Gmmu::make_room_and_transfer(std::uint32_t index, pages::InFlight in_flight) {
  cores_.ledger().charge(migrations_[index].stream);
  const auto room = make_room(migrations_[index].slot, in_flight);
  if (!room) return waits_for_room_.push_back(index);
  ++transferring_;
  const Picoseconds start = std::max(*room, migrations_[index].handled_ps);
  if (start == schedule_.now_ps()) return on_transfer(index);
  schedule_.at(start, EventKind::transfer, index);
}

// The time when there is room for the planned transfers; none while nothing can be evicted.
std::optional<Picoseconds> Gmmu::make_room(std::uint32_t slot, pages::InFlight in_flight) {
  Picoseconds done = schedule_.now_ps();
  if (!eviction_->fits()) {
    for (const pages::Victim& victim : eviction_->make_room(slot, in_flight)) {
      take_away(victim, done);
    }
    if (!eviction_->fits()) return std::nullopt;
  }
  return done;
}

void Gmmu::take_away(const pages::Victim& victim, Picoseconds& done_ps) {
  const std::uint32_t page = page_of_slot_[victim.slot];
  const auto first = static_cast<std::uint32_t>(victim.part.offset_bytes / trace::kLineBytes);
  residency_.make_invalid(map_.first_line(page) + first, lines_of(victim.part));
  residency_.leave(page);
  note_use(Use::evicted, map_.first_line(page) + first, victim.part.length_bytes);
  ++result_.evictions;
  result_.traffic.evicted_to_cpu += victim.back_bytes;
  const Picoseconds start = schedule_.now_ps();
  if (victim.back_bytes != 0) done_ps = link_.to_cpu(start, victim.back_bytes);
  if (observer_ != nullptr) {
    observer_->evicted(page_address(page) + victim.part.offset_bytes, victim.back_bytes,
                       {start, done_ps});
  }
}

void Gmmu::on_transfer(std::uint32_t index) {
  const Migration& migration = migrations_[index];
  Picoseconds done = schedule_.now_ps();
  for (const pages::Span span : migration.transfers) {
    done = link_.to_gpu(schedule_.now_ps(), span.length_bytes);
  }
  schedule_.at(done + change_ps_, EventKind::arrived, index);
}

void Gmmu::on_arrived(std::uint32_t index) {
  Migration& migration = migrations_[index];
  const std::uint32_t first_line = map_.first_line(migration.page);
  for (const pages::Span span : migration.transfers) {
    const auto first =
        first_line + static_cast<std::uint32_t>(span.offset_bytes / trace::kLineBytes);
    if (table_.arrived(migration.slot, migration.epoch, span)) {
      residency_.make_valid(first, lines_of(span));
      if (own_ != nullptr) own_->on_arrival(table_.page_number(migration.slot), span);
      changed_range(migration.page);
    }
    if (machine_.partitions.arrivals_in_dram) write_to_dram(first, lines_of(span));
  }
  const std::uint32_t buffer = migration.buffer;
  leave_buffer(index);
  --transferring_;
  if (observer_ != nullptr) {
    observer_->migrated(page_address(migration.page), migration.size_bytes,
                        {migration.since_ps, schedule_.now_ps()});
  }
  serve_waiters(index);
  if (batch_waits_for_arrivals_ && transferring_ == 0) {
    batch_waits_for_arrivals_ = false;
    schedule_.at(schedule_.now_ps(), EventKind::faults, 0);
  }
  if (somebody_waits_for_room()) return retry_for_room();
  const bool frees_others = options_.merged_waiters == MergedWaiters::take_entries;
  if (somebody_waits_for_memory_ || frees_others) return serve_all_blocked();
  serve_blocked(buffer);
}

// It is no longer on its way: requests for its lines don't wait for it.
void Gmmu::leave_buffer(std::uint32_t index) {
  const Migration& migration = migrations_[index];
  if (table_.policy().merge) {
    for (const pages::Span span : migration.transfers) {
      const auto first = static_cast<std::uint32_t>(span.offset_bytes / trace::kLineBytes);
      migration_of_line_.clear(map_.first_line(migration.page) + first, lines_of(span), index);
    }
  }
  --entries_used_[migration.buffer];
  --under_way_;
  if (--on_their_way_[migration.page] == 0) --pages_on_their_way_;
}

void Gmmu::write_to_dram(std::uint32_t first_line, std::uint32_t num_lines) {
  for (std::uint32_t line = first_line; line < first_line + num_lines; ++line) {
    partitions_.arrive(map_.place_of(line), schedule_.now_ps());
  }
}

// The record stays in use until all waiters were served; a waiter that can't be served uses another
// record, and doesn't wait for this migration again.
void Gmmu::serve_waiters(std::uint32_t index) {
  List waiters = migrations_[index].waiters;
  migrations_[index].waiters = {};
  migrations_[index].active = false;
  while (waiters.size != 0) {
    Waiting waiting = take_first(waiters);
    if (std::exchange(waiting.has_entry, false)) --entries_used_[buffer_of(waiting.request)];
    serve_or_ask(waiting);
  }
  free_migrations_.push_back(index);
}

void Gmmu::serve_or_ask(const Waiting& waiting) {
  const Picoseconds now = schedule_.now_ps();
  if (!residency_.valid(waiting.request.place.line())) return ask(waiting);
  serve(waiting.request, now, now - waiting.since_ps);
}

void Gmmu::serve_blocked(std::uint32_t buffer) {
  // Each once: one that still has no memory is blocked again.
  for (std::uint32_t left = blocked_[buffer].size; left != 0; --left) {
    if (must_wait_for_entry(buffer)) return;
    serve_or_ask(take_first(blocked_[buffer]));
  }
}

void Gmmu::retry_for_room() {
  std::vector<std::uint32_t> waiting;
  waiting.swap(waits_for_room_);
  std::vector<Waiting> writes;
  writes.swap(writes_waiting_for_room_);
  for (const std::uint32_t migration : waiting) {
    make_room_and_transfer(migration, pages::InFlight::stays);
  }
  // Its page may have been evicted since: the page table is asked again.
  for (const Waiting& write : writes) serve_or_ask(write);
  if (somebody_waits_for_room()) return;
  serve_all_blocked();
}

void Gmmu::serve_all_blocked() {
  somebody_waits_for_memory_ = false;
  for (std::uint32_t buffer = 0; buffer < blocked_.size(); ++buffer) serve_blocked(buffer);
}

void Gmmu::append(List& list, const Waiting& waiting) {
  std::uint32_t index = free_waiting_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    free_waiting_ = pool_[index].next;
  }
  pool_[index] = waiting;
  pool_[index].next = kNone;
  if (list.size++ == 0) {
    list.first = index;
  } else {
    pool_[list.last].next = index;
  }
  list.last = index;
}

Gmmu::Waiting Gmmu::take_first(List& list) {
  const std::uint32_t index = list.first;
  const Waiting waiting = pool_[index];
  list.first = waiting.next;
  --list.size;
  pool_[index].next = free_waiting_;
  free_waiting_ = index;
  return waiting;
}

std::uint32_t Gmmu::new_migration() {
  if (free_migrations_.empty()) {
    free_migrations_.push_back(static_cast<std::uint32_t>(migrations_.size()));
    migrations_.emplace_back();
  }
  const std::uint32_t index = free_migrations_.back();
  free_migrations_.pop_back();
  return index;
}

std::uint32_t Gmmu::lines_of(pages::Span span) const {
  return static_cast<std::uint32_t>(span.length_bytes / trace::kLineBytes);
}

std::uint64_t Gmmu::page_address(std::uint32_t page) const {
  return map_.real_line(map_.first_line(page)) * trace::kLineBytes;
}

std::string Gmmu::waiting() const {
  std::string text;
  for (const std::uint32_t index : waits_for_room_) {
    const Migration& migration = migrations_[index];
    text += "; a migration of " + std::to_string(migration.size_bytes) + " bytes to page " +
            hexadecimal(page_address(migration.page)) + " waits for room in GPU memory, where " +
            std::to_string(eviction_->framed_bytes()) + " bytes of pages stay";
  }
  if (!waits_for_room_.empty() && own_ != nullptr && own_->chooses_victims())
    text += ", since " + own_->name() + " names no victim";
  std::uint64_t blocked = 0;
  for (const List& list : blocked_) blocked += list.size;
  if (blocked != 0) {
    text += "; " + std::to_string(blocked) + " line requests wait for an entry of the migration " +
            "buffer (gmmu.buffer_entries " + std::to_string(machine_.gmmu.buffer_entries) + ")";
  }
  return text;
}

}  // namespace isthmus::sim

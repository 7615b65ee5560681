// The GPU's memory management unit: migrates or fetches lines that aren't in the GPU's memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pages/eviction.hpp"
#include "pages/page_table.hpp"
#include "sim/cores/cores.hpp"
#include "sim/cores/partitions.hpp"
#include "sim/link.hpp"
#include "sim/migration/residency.hpp"
#include "sim/options.hpp"

namespace isthmus::sim {

/// Handles line requests at their partition, page faults and arrivals. A request that can't be
/// served is repeated when what it waits for is there: its migration, or an entry of the migration
/// buffer (first come, first served).
class Gmmu {
public:
  Gmmu(const ModelledMachine& machine, const pages::MigrationPolicy& policy, const Options& options,
       const AddressMap& map, Residency& residency, Schedule& schedule, Cores& cores,
       HostLink& link, Result& result, Observer* observer);

  void on_line(const LineRequest& request) {
    const std::uint32_t line = request.place.line();
    if (residency_.valid(line)) return serve(request, schedule_.now_ps() + query_ps_, 0);
    if (request.note == 0) ++result_.tlb.misses_or_absent;
    if (request.note == 0) ++result_.tlb.misses_or_absent_after_l1;
    ask({request, schedule_.now_ps(), kNone});
  }
  void prefetch(const LineRequest& request) const {
    partitions_.prefetch(request.place);
    residency_.prefetch(request.place.line());
  }
  void on_transfer(std::uint32_t migration);
  void on_arrived(std::uint32_t migration);
  void on_faults();
  void begin_launch() {
    is_first_batch_ = true;
    if (eviction_ != nullptr) eviction_->begin_launch();
  }

  /// Brings [address, address + size_bytes), which is in one page that has a number, without a
  /// fault: what isn't here yet is on the link from `time_ps`. Returns its bytes; none if memory is
  /// full.
  std::optional<std::uint64_t> bring(std::uint64_t address, std::uint32_t size_bytes,
                                     Picoseconds time_ps);
  /// The same for bytes that nobody has written yet: they are here, and nothing crosses the link.
  /// Returns false if memory is full.
  bool make(std::uint64_t address, std::uint32_t size_bytes);

  /// True for a chunk of the address space whose data is resident from the start.
  bool starts_resident(std::uint32_t chunk);
  /// The CPU accesses [address, address + size_bytes): its pages migrate back. Returns the bytes
  /// moved.
  std::uint64_t cpu_request(std::uint64_t address, std::uint64_t size_bytes);
  /// Removes the lines of [address, address + size_bytes) from the GPU's memory. Returns their bytes.
  ///
  /// go_back     whether they move: otherwise the CPU has them
  std::uint64_t drop(std::uint64_t address, std::uint64_t size_bytes, bool go_back);
  /// The same on a coherent link: no page moves, and the GPU's copies of lines that the CPU writes
  /// become invalid. Returns the bytes that are in the GPU's memory.
  std::uint64_t cpu_access(std::uint64_t address, std::uint64_t size_bytes, bool writes);
  /// Counts the valid ranges of each page into the result.
  void count_ranges();

  std::uint32_t under_way() const { return under_way_; }
  /// The touched lines of global and of local memory.
  std::uint64_t touched_global_lines() const { return touched_global_lines_; }
  std::uint64_t touched_local_lines() const { return touched_local_lines_; }
  /// The waiting requests and migrations, for a deadlock's message.
  std::string waiting() const;

private:
  static constexpr std::uint32_t kNone = ~0U;

  /// A waiting request; an element of a list.
  struct Waiting {
    LineRequest request;
    Picoseconds since_ps = 0;
    std::uint32_t next = kNone;
    bool has_entry = false;  // of the migration buffer, besides that of its migration
  };
  struct List {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t size = 0;
  };
  struct Migration {
    std::uint32_t slot = 0;
    std::uint32_t epoch = 0;
    std::uint32_t page = 0;
    std::uint32_t buffer = 0;
    std::uint32_t stream = 0;  // for whose request it began
    std::uint64_t size_bytes = 0;
    Picoseconds since_ps = 0;
    Picoseconds handled_ps = 0;  // when its fault was handled
    bool active = false;
    List waiters;
    std::vector<pages::Span> transfers;
  };

  void note_use(Use use, std::uint32_t line, std::uint64_t amount) const {
    if (observer_ == nullptr) return;
    observer_->used(use, map_.real_line(line) * trace::kLineBytes, amount);
  }
  void serve(const LineRequest& request, Picoseconds time_ps, Picoseconds migration_ps);
  void count_access(const LineRequest& request);
  void ask(const Waiting& waiting);
  void answer(const Waiting& waiting, std::uint32_t page);
  void serve_remotely(const Waiting& waiting);
  void serve_coherently(const Waiting& waiting);
  void wait_for(std::uint32_t migration, const Waiting& waiting);
  void note_page(std::uint32_t slot, std::uint32_t page);
  bool has_frame(std::uint32_t page) const;
  std::uint32_t buffer_of(const LineRequest& request) const {
    return one_buffer_ ? 0 : request.place.partition();
  }
  void validate_without_fetch(const Waiting& waiting, const pages::Answer& answer);
  bool must_wait_for_entry(std::uint32_t buffer) const;
  bool would_fill_memory(std::uint32_t page) const;
  /// True if a batch of faults may evict what it has just brought. What migrates in the background
  /// has no fault that waits for it.
  bool evicts_within_batches() const {
    return machine_.faults.handling == Handling::batch && !migrates_in_background_ &&
           eviction_ != nullptr && eviction_->takes_whole_pages();
  }
  /// True if more pages wait for migrations than fit.
  bool is_crowded() const;
  std::uint32_t migration_to_wait_for(std::uint32_t line, std::uint32_t page) const;

  std::uint32_t start(const pages::Answer& answer, std::uint32_t page, std::uint32_t buffer);
  void handle_fault(std::uint32_t migration);
  /// Handles the faults of a batch, one after the other, from `time_ps` on. Returns when it has.
  ///
  /// crowded     whether more pages wait for migrations than fit; likewise below
  Picoseconds handle_batch(std::vector<std::uint32_t>& batch, bool crowded, Picoseconds time_ps);
  std::vector<std::uint32_t> take_batch(bool crowded);
  /// Looks anew at the fault of a migration whose page was evicted since. What its requests need now
  /// follows `place` in the batch.
  void fault_again(std::vector<std::uint32_t>& batch, std::size_t place);
  Picoseconds driver_ps(std::uint32_t migration, std::vector<std::uint64_t>& blocks);
  /// Gives a migration frames. Before that it has none: a fault that waits for the driver evicts
  /// nothing.
  void occupy_and_transfer(std::uint32_t migration,
                           pages::InFlight in_flight = pages::InFlight::stays);
  void make_room_and_transfer(std::uint32_t migration, pages::InFlight in_flight);
  std::optional<Picoseconds> make_room(std::uint32_t slot, pages::InFlight in_flight);
  void leave_buffer(std::uint32_t migration);
  bool somebody_waits_for_room() const {
    return !waits_for_room_.empty() || !writes_waiting_for_room_.empty();
  }
  void take_away(const pages::Victim& victim, Picoseconds& done_ps);
  void write_to_dram(std::uint32_t first_line, std::uint32_t num_lines);
  void serve_waiters(std::uint32_t migration);
  void serve_or_ask(const Waiting& waiting);
  void serve_blocked(std::uint32_t buffer);
  void serve_all_blocked();
  void retry_for_room();
  /// Returns the bytes moved.
  std::uint32_t take_page_back(std::uint64_t address);
  /// Counts what goes back of the page at `address`, as if it lay together.
  ///
  /// last_block  the last block that this host step has counted
  void count_returned(std::uint64_t address, std::uint64_t size_bytes, std::uint64_t& last_block);
  /// Calls `visit` with the address of each page of [address, address + size_bytes) that is placed.
  template <class Visit>
  void for_placed_pages(std::uint64_t address, std::uint64_t size_bytes, Visit&& visit) const {
    const std::uint64_t page_bytes = this->page_bytes();
    const std::uint64_t chunk_bytes = std::uint64_t{map_.lines_per_chunk()} * trace::kLineBytes;
    const std::uint64_t begin = address / page_bytes * page_bytes;
    const std::uint64_t end = address + size_bytes;
    for (const std::uint64_t chunk : map_.placed_chunks(begin, end)) {
      const std::uint64_t chunk_end = std::min(end, chunk + chunk_bytes);
      for (std::uint64_t at = std::max(begin, chunk); at < chunk_end; at += page_bytes) {
        visit(at);
      }
    }
  }

  void changed_range(std::uint32_t page) {
    if (machine_.gmmu.range_in_tlb) residency_.forget_translation(page);
  }
  void append(List& list, const Waiting& waiting);
  Waiting take_first(List& list);
  std::uint32_t new_migration();
  std::uint32_t lines_of(pages::Span span) const;
  std::uint64_t page_bytes() const {
    return std::uint64_t{map_.lines_per_page()} * trace::kLineBytes;
  }
  std::uint64_t page_address(std::uint32_t page) const;

  const ModelledMachine& machine_;
  const Options& options_;
  const AddressMap& map_;
  Residency& residency_;
  Schedule& schedule_;
  Cores& cores_;
  HostLink& link_;
  Result& result_;
  Observer* observer_;
  MemoryPartitions partitions_;
  std::unique_ptr<pages::OwnRun> own_;
  pages::PageTable table_;
  std::unique_ptr<pages::Eviction> eviction_;

  Picoseconds query_ps_;
  Picoseconds change_ps_;
  std::uint64_t memory_bytes_;
  bool one_buffer_;
  bool advised_;                 // nothing migrates on demand
  bool remote_only_;             // what is absent is served over the link
  bool migrates_in_background_;  // access counters on a coherent link
  bool counts_accesses_ = false;
  std::vector<std::uint32_t> page_of_slot_;
  std::vector<std::uint32_t> slot_of_page_;
  std::vector<std::uint32_t> last_migration_;  // of each page; may have ended
  std::vector<std::uint32_t> on_their_way_;    // migrations of each page
  std::uint64_t pages_on_their_way_ = 0;
  bool somebody_waits_for_memory_ = false;  // for fewer of them
  std::vector<Migration> migrations_;
  MigrationMap migration_of_line_;  // if requests are merged
  std::vector<std::uint32_t> free_migrations_;
  std::vector<Waiting> pool_;
  std::uint32_t free_waiting_ = kNone;
  std::vector<std::uint32_t> entries_used_;       // in each buffer; the last: prefetches
  std::vector<List> blocked_;                     // for each buffer
  std::vector<Waiting> writes_waiting_for_room_;  // that need no fetch
  std::vector<std::uint32_t> waits_for_room_;     // migrations: one, and none else starts meanwhile
  std::uint32_t under_way_ = 0;

  std::deque<std::uint32_t> faults_;     // migrations whose faults the driver hasn't handled
  bool is_first_batch_ = true;           // of a kernel
  std::uint64_t charged_evictions_ = 0;  // those whose faults.evict_ps a batch has taken
  bool driver_is_busy_ = false;          // an event says when it may handle the next batch
  std::uint32_t transferring_ = 0;       // migrations whose bytes will arrive
  bool batch_waits_for_arrivals_ = false;

  std::uint64_t touched_global_lines_ = 0;
  std::uint64_t touched_local_lines_ = 0;
};

}  // namespace isthmus::sim

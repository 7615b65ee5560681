#include "sim/simulator.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <isthmus/errors.hpp>

#include "pages/policy_names.hpp"
#include "sim/cores/cores.hpp"
#include "sim/deadlock.hpp"
#include "sim/host_steps.hpp"
#include "sim/least_time.hpp"
#include "sim/migration/gmmu.hpp"
#include "sim/migration/hinted_memory.hpp"
#include "sim/streamed_copies.hpp"
#include "trace/checking.hpp"

namespace isthmus::sim {
namespace {

constexpr std::uint64_t kEventsBetweenPolls = 1U << 12U;  // a fraction of a millisecond

// Least time from a load's event at its partition to its core. Remote data passes no port or L2.
Picoseconds lookahead_ps(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                         const Options& options) {
  using pages::PolicyKind;
  const bool remote =
      policy.kind == PolicyKind::zero_copy || policy.kind == PolicyKind::access_counter ||
      options.hints == Hints::advise ||
      (options.own != nullptr && options.own->table->remote != 0) ||
      (policy.kind == PolicyKind::ranges && policy.overflow == pages::Overflow::refuse);
  const Picoseconds cycle = cycle_ps(machine.cores.clock_hz);
  const Picoseconds network = machine.network.latency_cycles * cycle;
  if (options.mode == Mode::migrate && remote) return network;
  return network + machine.partitions.l2_cycles * cycle + port_line_ps(machine);
}

/// One run: the parts of the machine, and the order of its steps.
class Simulation {
public:
  Simulation(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
             const Options& options, trace::Source& source, Observer* observer)
      : options_(options),
        observer_(observer),
        map_(machine, policy.page_bytes),
        residency_(map_),
        least_(machine, source),
        feed_(least_, map_, [this] { grow(); }),
        numbers_(trace::number_streams(source.program())),
        streams_(std::max<std::size_t>(1, numbers_.size())),
        cores_(machine, lookahead_ps(machine, policy, options), map_, residency_, feed_,
               streams_.size(), schedule_, result_, observer),
        link_(machine.link, result_.utilisation, observer),
        gmmu_(machine, policy, options, map_, residency_, schedule_, cores_, link_, result_,
              observer),
        host_{machine, options, feed_.program(), map_, residency_, link_, gmmu_, hinted_, result_},
        launch_ps_(machine.launch.latency_ps) {
    if (options.mode == Mode::migrate && options.hints != Hints::none) {
      hinted_.emplace(machine, options, source, map_, link_, gmmu_, [this] { grow(); });
      hinted_->count_advice(result_);
    }
    if (options.mode != Mode::overlapped) return;
    copies_.emplace(plan_copies(source, options.chunk_bytes, options.chunk_order),
                    options.count_downloads, link_, result_.traffic);
  }

  Result operator()() {
    const trace::Program& program = feed_.program();
    result_.launches.resize(program.launches.size(), {0, kNever});
    if (copies_) copies_->launches_ended(0, time_ps_);
    for (std::uint32_t index = 0; index < program.launches.size(); ++index) {
      const std::uint32_t stream = numbers_.at(program.launches[index].stream);
      take(program.launches[index].before, stream);
      add(stream, {nullptr, index});
    }
    if (program.launches.empty()) note_ends();
    take(program.after, 0);
    wait_for_all();
    copy_what_was_touched();
    finish();
    return std::move(result_);
  }

private:
  void grow() {
    residency_.grow([this](std::uint32_t chunk) { return gmmu_.starts_resident(chunk); },
                    options_.mode != Mode::migrate);
  }

  /// What a stream does next: a copy or, if that is null, a launch.
  struct Work {
    const trace::HostStep* step = nullptr;
    std::uint32_t launch = 0;
  };
  struct Stream {
    std::deque<Work> work;          // that hasn't begun
    Picoseconds free_ps = 0;        // when the work before it was done
    Picoseconds start_ps = kNever;  // of its launch, which runs then or waits for its latency
    std::uint32_t launch = 0;       // that runs
    bool waits_for_copies = false;
  };

  void add(std::uint32_t stream, const Work& work) {
    streams_[stream].work.push_back(work);
    ++work_left_;
  }

  // Copies in streams are work of theirs; each other step waits for all streams. It counts for the
  // launch after it.
  void take(const std::vector<trace::HostStep>& steps, std::uint32_t stream_of_launch) {
    if (copies_) return;
    for (const trace::HostStep& step : steps) {
      if (step.stream != trace::kAllStreams) {
        add(numbers_.at(step.stream), {&step, 0});
        continue;
      }
      wait_for_all();
      cores_.ledger().charge(stream_of_launch);
      time_ps_ = take(step, time_ps_);
    }
  }

  void wait_for_all() {
    for (std::uint32_t index = 0; index < streams_.size(); ++index) go_on(index, time_ps_);
    while (work_left_ != 0) {
      run_events();
      while (const auto ended = cores_.take_ended()) end_launch(*ended);
    }
    for (const Stream& stream : streams_) time_ps_ = std::max(time_ps_, stream.free_ps);
  }

  // Until a launch has ended, or a stream's turn has come.
  void run_events() {
    bool is_streams_turn = false;
    while (!cores_.has_ended() && !is_streams_turn) {
      if (schedule_.empty()) fail();
      const Event event = schedule_.next();
      if (const Event* soon = schedule_.soon(); soon != nullptr) prefetch(*soon);
      is_streams_turn = Schedule::kind(event) == EventKind::stream;
      handle(event);
      if (schedule_.num_events() % kEventsBetweenPolls == 0 && observer_ != nullptr) {
        observer_->poll(schedule_.now_ps());
        observer_->counted(schedule_.now_ps(), result_);
      }
    }
  }

  // A stream's work before was done at `time_ps`. One stream alone needs no events to take its turn.
  void go_on(std::uint32_t index, Picoseconds time_ps) {
    Stream& stream = streams_[index];
    while (!stream.work.empty()) {
      if (streams_.size() > 1 && time_ps > schedule_.now_ps()) {
        return schedule_.at(time_ps, EventKind::stream, index);
      }
      const auto done = do_next(index, time_ps);
      if (!done) return;
      time_ps = *done;
    }
    stream.free_ps = time_ps;
  }

  // Returns when the stream goes on; nothing while its launch runs, or waits for copies.
  std::optional<Picoseconds> do_next(std::uint32_t index, Picoseconds time_ps) {
    Stream& stream = streams_[index];
    const Work work = stream.work.front();
    cores_.ledger().charge(index);
    if (work.step != nullptr) {
      stream.work.pop_front();
      --work_left_;
      return take(*work.step, time_ps);
    }
    if (stream.start_ps == kNever) {
      stream.waits_for_copies = copies_ && !copies_->booked(work.launch);
      if (stream.waits_for_copies) return std::nullopt;
      if (hinted_) hinted_->begin_launch(work.launch, time_ps);
      stream.start_ps = start_of_launch(work.launch, time_ps);
      return stream.start_ps;
    }
    stream.work.pop_front();
    stream.launch = work.launch;
    gmmu_.begin_launch();
    cores_.begin_launch(index, work.launch, {stream.start_ps, cta_starts(work.launch)},
                        !options_.l1_kept_between_launches);
    return std::nullopt;
  }

  void end_launch(std::uint32_t index) {
    Stream& stream = streams_[index];
    const Picoseconds start = std::exchange(stream.start_ps, kNever);
    const Picoseconds end = std::max({start, schedule_.now_ps(), cores_.last_store_ps(index)});
    result_.launches[stream.launch] = {start, end};
    --work_left_;
    if (observer_ != nullptr) {
      observer_->launched(stream.launch, feed_.program().launches[stream.launch], {start, end},
                          cores_.ledger().take(index));
    }
    note_ends();
    book_copies(end);
    go_on(index, end);
  }

  void note_ends() {
    const std::vector<LaunchTimes>& launches = result_.launches;
    while (num_ended_ < launches.size() && launches[num_ended_].end_ps != kNever) ++num_ended_;
    if (num_ended_ != launches.size()) return;
    feed_.check_end();
    gmmu_.count_ranges();
  }

  // Copies wait for all launches before them in the program.
  void book_copies(Picoseconds time_ps) {
    if (!copies_) return;
    copies_->launches_ended(num_ended_, time_ps);
    for (std::uint32_t index = 0; index < streams_.size(); ++index) {
      if (std::exchange(streams_[index].waits_for_copies, false)) go_on(index, time_ps);
    }
  }

  // A launch waits for the downloads of what it stores to, and for its first CTA's chunks.
  Picoseconds start_of_launch(std::uint32_t index, Picoseconds time_ps) {
    const Picoseconds soonest = time_ps + launch_ps_;
    if (!copies_) return soonest;
    const Picoseconds copied =
        std::max(copies_->stores_may_begin_ps(index), copies_->arrived_ps(index, 0));
    const Picoseconds start = std::max(soonest, copied + launch_ps_);
    copying_.push_back({soonest, start});
    return start;
  }

  std::function<Picoseconds(std::uint32_t)> cta_starts(std::uint32_t launch) const {
    if (!copies_) return nullptr;
    return
        [this, launch](std::uint32_t cta) { return copies_->arrived_ps(launch, cta) + launch_ps_; };
  }

  void prefetch(const Event& event) const {
    const EventKind kind = Schedule::kind(event);
    if (kind <= EventKind::execute) return cores_.prefetch(Schedule::index(event));
    if (kind >= EventKind::load && kind <= EventKind::atomic) {
      gmmu_.prefetch(LineRequest::of(event));
    }
  }

  void handle(const Event& event) {
    const std::uint32_t index = Schedule::index(event);
    switch (Schedule::kind(event)) {
      case EventKind::warp_ready:
        return cores_.on_warp_ready(index);
      case EventKind::execute:
        return cores_.on_execute(index);
      case EventKind::resume:
        return cores_.on_resume(index);
      case EventKind::translate:
        return cores_.on_translate(LineRequest::of(event));
      case EventKind::load:
      case EventKind::store:
      case EventKind::atomic:
        return gmmu_.on_line(LineRequest::of(event));
      case EventKind::transfer:
        return gmmu_.on_transfer(index);
      case EventKind::arrived:
        return gmmu_.on_arrived(index);
      case EventKind::faults:
        return gmmu_.on_faults();
      case EventKind::stream:
        return go_on(index, schedule_.now_ps());
    }
  }

  // Migrations that nothing waits for continue while the next kernel runs, but not while the CPU
  // takes its pages back, unless kernels of other streams run.
  Picoseconds take(const trace::HostStep& step, Picoseconds time_ps) {
    if (options_.mode == Mode::ideal) return time_ps;
    if (hinted_) hinted_->note(step);
    if (options_.mode == Mode::migrate && options_.cpu_requests == CpuRequests::left_out) {
      return time_ps;
    }
    if (streams_.size() == 1 || step.stream == trace::kAllStreams) {
      while (!schedule_.empty()) handle(schedule_.next());
      time_ps = std::max(time_ps, schedule_.now_ps());
    }
    const Picoseconds done = host_.take(step, time_ps);
    if (done != time_ps) copying_.push_back({time_ps, done});
    return done;
  }

  // A programmer's copies of touched data, known only now but made before the start: all times
  // shift by them.
  void copy_what_was_touched() {
    if (options_.mode != Mode::programmer) return;
    if (host_.programmer_data == ProgrammerData::uploads) return;
    result_.traffic.copied_to_gpu = host_.bytes_to_copy();
    const Picoseconds end = link_.to_gpu(time_ps_, result_.traffic.copied_to_gpu);
    copying_.push_back({time_ps_, end});
    time_ps_ = end;
  }

  void finish() {
    if (copies_ && copies_->end_ps() > time_ps_) {
      copying_.push_back({time_ps_, copies_->end_ps()});
      time_ps_ = copies_->end_ps();
    }
    result_.total_ps = time_ps_;
    result_.kernel_ps = covered_ps(result_.launches);
    copying_.insert(copying_.end(), result_.launches.begin(), result_.launches.end());
    result_.copy_ps = covered_ps(copying_) - result_.kernel_ps;
    result_.least_ps = std::max(least_.total_ps(), link_.least_busy_ps(time_ps_));
    result_.tlb.misses_or_absent += result_.tlb.misses;
    result_.tlb.misses_or_absent_after_l1 += result_.tlb.misses_after_l1;
    const bool local_migrates = options_.local_memory == LocalMemory::migrates;
    result_.touched_bytes =
        (gmmu_.touched_global_lines() + (local_migrates ? gmmu_.touched_local_lines() : 0)) *
        trace::kLineBytes;
    if (options_.mode != Mode::ideal) result_.accessed_bytes = host_.accessed_bytes();
    result_.link_to_gpu_busy_ps = link_.to_gpu_busy_ps();
    result_.link_to_cpu_busy_ps = link_.to_cpu_busy_ps();
    result_.events = schedule_.num_events();
    result_.event_digest = schedule_.digest();
  }

  [[noreturn]] void fail() const {
    throw Deadlock("nothing can go on in launch " + cores_.running_launches() + " after " +
                   std::to_string(schedule_.now_ps()) + " ps: " + cores_.waiting_warps(4) +
                   gmmu_.waiting());
  }

  const Options& options_;
  Observer* observer_;
  Result result_;
  Schedule schedule_;
  AddressMap map_;
  Residency residency_;
  LeastTime least_;
  CtaFeed feed_;
  std::map<std::uint32_t, std::uint32_t> numbers_;  // of streams
  std::vector<Stream> streams_;
  Cores cores_;
  HostLink link_;
  Gmmu gmmu_;
  std::optional<HintedMemory> hinted_;    // with hints
  std::optional<StreamedCopies> copies_;  // in the mode overlapped
  HostSteps host_;
  Picoseconds launch_ps_;
  std::size_t work_left_ = 0;         // of all streams, and launches that run
  std::uint32_t num_ended_ = 0;       // of the first launches, up to one that hasn't ended
  std::vector<LaunchTimes> copying_;  // when copies were made or waited for
  Picoseconds time_ps_ = 0;
};

void check_options(const Options& options) {
  if (options.mode != Mode::overlapped) return;
  if (options.chunk_bytes == 0) throw UsageError("options.chunk_bytes is 0: it must be 1 or more");
  if (options.programmer_data != ProgrammerData::uploads)
    throw UsageError(
        "overlapped copies are the program's own: options.programmer_data must be "
        "uploads");
}

/// Belady's eviction: a first run, in which the page that was accessed longest ago leaves, records
/// the order of accesses. Its events are nobody's, but it can be stopped.
Result with_foresight(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                      Options options, trace::Source& source, Observer* observer) {
  struct OnlyPolls : Observer {
    Observer* to = nullptr;
    void poll(Picoseconds now_ps) override { return to ? to->poll(now_ps) : void(); }
  } polls;
  polls.to = observer;
  pages::UseOrder order;
  Options first = options;
  first.eviction.kind = pages::EvictionKind::lru;
  first.eviction.recency = pages::Recency::access;
  first.eviction.record = &order;
  Simulation(machine, policy, first, source, &polls)();
  options.eviction.order = &order;
  return Simulation(machine, policy, options, source, observer)();
}

}  // namespace

Result simulate(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                const Options& options, trace::Source& source, Observer* observer) {
  check_machine(machine);
  pages::check(policy);
  check_options(options);
  if (options.eviction.kind == pages::EvictionKind::belady && options.mode == Mode::migrate)
    return with_foresight(machine, policy, options, source, observer);
  return Simulation(machine, policy, options, source, observer)();
}

}  // namespace isthmus::sim

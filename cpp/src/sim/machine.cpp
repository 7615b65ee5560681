#include "sim/machine.hpp"

#include <bit>
#include <string>

#include <isthmus/errors.hpp>

#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

void need(bool holds, const std::string& parameter, std::uint64_t value, const std::string& what) {
  if (holds) return;
  throw UsageError(parameter + " is " + std::to_string(value) + ": it must be " + what);
}

void need_range(const std::string& parameter, std::uint64_t value, std::uint64_t least,
                std::uint64_t most) {
  need(least <= value && value <= most, parameter, value,
       "from " + std::to_string(least) + " to " + std::to_string(most));
}

// Simulated time overflows after 213 days (time.hpp), without an error. Limiting each wait or
// transfer to minutes at most leaves room for more of them than any run has.
constexpr std::uint64_t kMaxCycles = 1'000'000;
constexpr Picoseconds kMaxWaitPs = 1000 * kPicosecondsPerSecond;
constexpr std::uint64_t kMinBytesPerSecond = 1'000'000;
constexpr std::uint64_t kMaxOverheadBytes = 65536;

void need_cycles(const std::string& parameter, std::uint64_t value) {
  need_range(parameter, value, 0, kMaxCycles);
}

void need_wait(const std::string& parameter, Picoseconds value) {
  need_range(parameter, value, 0, kMaxWaitPs);
}

void need_bandwidth(const std::string& parameter, std::uint64_t value) {
  need(value >= kMinBytesPerSecond, parameter, value,
       std::to_string(kMinBytesPerSecond) + " or more");
}

void check_cores(const CoreParameters& cores) {
  need_range("cores.count", cores.count, 1, 256);
  need_range("cores.clock_hz", cores.clock_hz, 1'000'000, 100'000'000'000);
  need_range("cores.max_warps", cores.max_warps, 1, 4094);
  need_range("cores.max_ctas", cores.max_ctas, 1, 4094);
  need_range("cores.issue_per_cycle", cores.issue_per_cycle, 1, 64);
  need_range("cores.dependent_issue_cycles", cores.dependent_issue_cycles, 0, 10'000);
  need_range("cores.lines_per_cycle", cores.lines_per_cycle, 1, 64);
}

void check_cache(const std::string& name, std::uint64_t size_bytes, std::uint32_t ways) {
  if (size_bytes == 0) return;
  need_range(name + "_ways", ways, 1, 1024);
  const std::uint64_t set_bytes = ways * trace::kLineBytes;
  need(size_bytes % set_bytes == 0, name + "_size_bytes", size_bytes,
       "0 or a multiple of " + std::to_string(set_bytes) + " (ways x 128)");
  need(size_bytes / set_bytes <= 65536, name + "_size_bytes", size_bytes, "at most 65536 sets");
}

void check_l1(const L1Parameters& l1) {
  check_cache("l1.cache", l1.size_bytes, l1.ways);
  need_range("l1.hit_cycles", l1.hit_cycles, 0, 10'000);
  need_range("l1.misses", l1.misses, 1, 4094);
  need_range("l1.merges", l1.merges, 1, 4094);
}

void check_entries(const std::string& name, std::uint32_t entries, std::uint32_t ways) {
  need_range(name + "entries", entries, 1, 1U << 20U);
  if (ways == 0) return;
  need(entries % ways == 0, name + "ways", ways,
       "0 or a divisor of " + std::to_string(entries) + " entries");
}

void check_translation(const TranslationParameters& translation) {
  check_entries("translation.", translation.entries, translation.ways);
  need_range("translation.ports", translation.ports, 1, 64);
  if (translation.shared_entries != 0) {
    check_entries("translation.shared_", translation.shared_entries, translation.shared_ways);
  }
  need_cycles("translation.shared_cycles", translation.shared_cycles);
  need_cycles("translation.walk_cycles", translation.walk_cycles);
  need_range("translation.walkers", translation.walkers, 0, 4096);
}

void check_partitions(const ModelledMachine& machine) {
  const PartitionParameters& partitions = machine.partitions;
  need_range("partitions.count", partitions.count, 1, 256);
  check_cache("partitions.l2", partitions.l2_size_bytes, partitions.l2_ways);
  need_cycles("partitions.l2_cycles", partitions.l2_cycles);
  need_bandwidth("partitions.dram_bytes_per_s", partitions.dram_bytes_per_s);
  need_cycles("partitions.dram_cycles", partitions.dram_cycles);
  const NetworkParameters& network = machine.network;
  need_cycles("network.latency_cycles", network.latency_cycles);
  need(network.port_bytes_per_cycle != 0, "network.port_bytes_per_cycle", 0, "more than 0");
  const std::uint32_t stripe = network.partition_stripe_bytes;
  need(std::has_single_bit(stripe) && stripe >= trace::kLineBytes, "network.partition_stripe_bytes",
       stripe, "a power of two from 128");
}

void check_link(const LinkParameters& link) {
  need_bandwidth("link.bytes_per_s", link.bytes_per_s);
  if (link.back_bytes_per_s != 0) need_bandwidth("link.back_bytes_per_s", link.back_bytes_per_s);
  need_wait("link.latency_ps", link.latency_ps);
  need_range("link.packet_overhead_bytes", link.packet_overhead_bytes, 0, kMaxOverheadBytes);
  const LinkCost* before = nullptr;
  for (const LinkCost& cost : link.costs) {
    need(cost.size_bytes != 0 && cost.busy_ps != 0, "link.costs", 0, "more than 0 bytes and time");
    need_wait("link.costs", cost.busy_ps);
    if (before != nullptr) {
      need(cost.size_bytes > before->size_bytes && cost.busy_ps >= before->busy_ps, "link.costs",
           cost.size_bytes, "points of rising size and time");
    }
    before = &cost;
  }
}

}  // namespace

void check_machine(const ModelledMachine& machine) {
  check_cores(machine.cores);
  check_l1(machine.l1);
  check_translation(machine.translation);
  check_partitions(machine);
  need(machine.gmmu.buffer_entries != 0, "gmmu.buffer_entries", 0,
       "1 or more: without an entry "
       "no page can migrate");
  need_cycles("gmmu.query_cycles", machine.gmmu.query_cycles);
  check_link(machine.link);
  need_wait("faults.latency_ps", machine.faults.latency_ps);
  need_wait("faults.block_ps", machine.faults.block_ps);
  need_wait("faults.first_ps", machine.faults.first_ps);
  need_wait("faults.page_ps", machine.faults.page_ps);
  need_wait("faults.evict_ps", machine.faults.evict_ps);
  need_wait("faults.fetch_ps", machine.faults.fetch_ps);
  need_wait("faults.prefetch_ps", machine.faults.prefetch_ps);
  need_wait("faults.prefetch_block_ps", machine.faults.prefetch_block_ps);
  need_wait("faults.back_fault_ps", machine.faults.back_fault_ps);
  need_wait("faults.back_page_ps", machine.faults.back_page_ps);
  need_wait("faults.back_prefetch_ps", machine.faults.back_prefetch_ps);
  need_wait("faults.back_prefetch_block_ps", machine.faults.back_prefetch_block_ps);
  need(!machine.faults.side_by_side() ||
           (machine.faults.block_ps == 0 && machine.faults.page_ps == 0 &&
            machine.faults.first_ps == 0 && machine.faults.evict_ps == 0),
       "faults.page_ps", machine.faults.page_ps,
       "0, as faults.block_ps, faults.first_ps and faults.evict_ps: with handling \"each\" and "
       "\"lanes\" a fault costs its latency alone");
  need_range("faults.batch_faults", machine.faults.batch_faults, 1, 1U << 20U);
  need_wait("launch_ps", machine.launch_ps);
}

}  // namespace isthmus::sim

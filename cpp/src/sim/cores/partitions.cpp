#include "sim/cores/partitions.hpp"

#include "trace/trace.hpp"

namespace isthmus::sim {

Picoseconds port_line_ps(const ModelledMachine& machine) {
  const std::uint64_t bytes = machine.network.port_bytes_per_cycle;
  return (trace::kLineBytes * cycle_ps(machine.cores.clock_hz) + bytes - 1) / bytes;
}

MemoryPartitions::MemoryPartitions(const ModelledMachine& machine, CacheCounts& counts)
    : port_line_ps_(port_line_ps(machine)),
      dram_line_ps_(transfer_ps(trace::kLineBytes, machine.partitions.dram_bytes_per_s)),
      dram_latency_ps_(machine.partitions.dram_cycles * cycle_ps(machine.cores.clock_hz)),
      return_ps_((machine.partitions.l2_cycles + machine.network.latency_cycles) *
                 cycle_ps(machine.cores.clock_hz)),
      sets_per_partition_(machine.partitions.l2_size_bytes == 0
                              ? 0
                              : machine.partitions.l2_size_bytes / trace::kLineBytes /
                                    machine.partitions.l2_ways),
      l2_(machine.partitions.count * sets_per_partition_, machine.partitions.l2_ways, false),
      port_free_ps_(machine.partitions.count, 0),
      dram_free_ps_(machine.partitions.count, 0),
      counts_(counts) {}

}  // namespace isthmus::sim

#include "sim/machine.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include <isthmus/errors.hpp>

#include "trace/trace.hpp"

namespace isthmus::sim {
namespace {

constexpr std::uint64_t kNoMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMaxCycles = 1'000'000;
constexpr std::uint64_t kMaxWait = 1000 * kPicosecondsPerSecond;
constexpr std::uint64_t kMinBandwidth = 1'000'000;

void need(bool holds, const std::string& parameter, std::uint64_t value, const std::string& what) {
  if (holds) return;
  throw UsageError(parameter + " is " + std::to_string(value) + ": it must be " + what);
}

void need_range(const std::string& parameter, std::uint64_t value, std::uint64_t least,
                std::uint64_t most) {
  const std::string from = std::to_string(least);
  need(least <= value && value <= most, parameter, value,
       most == kNoMax ? from + " or more" : "from " + from + " to " + std::to_string(most));
}

/// Narrows a value that is as large as the member's type can be at most.
template <typename Value>
void set_to(Value& member, const char* name, std::uint64_t value, std::uint64_t least,
            std::uint64_t most) {
  need_range(name, value, least, std::min<std::uint64_t>(most, std::numeric_limits<Value>::max()));
  member = static_cast<Value>(value);
}

constexpr Parameter kParameters[] = {
#define ISTHMUS_PARAMETER(group, name, member, kind, initial, least, most, given, meaning, source) \
  {#group,                                                                                         \
   #name,                                                                                          \
   #kind,                                                                                          \
   meaning,                                                                                        \
   least,                                                                                          \
   most,                                                                                           \
   std::string_view(#given) == "required",                                                         \
   [](const ModelledMachine& machine) -> std::uint64_t { return machine.group.member; },           \
   [](ModelledMachine& machine, std::uint64_t value) {                                             \
     set_to(machine.group.member, #group "." #name, value, least, most);                           \
   }},
#include "sim/parameters.inc"
};

constexpr ParameterGroup kGroups[] = {
#define ISTHMUS_GROUP(type, group, meaning) {#group, meaning},
#include "sim/parameters.inc"
};

void check_cache(const std::string& name, std::uint64_t size_bytes, std::uint32_t ways) {
  const std::uint64_t set_bytes = ways * trace::kLineBytes;
  need(size_bytes % set_bytes == 0, name, size_bytes,
       "0 or a whole number of sets of " + std::to_string(set_bytes) + " B (ways x 128)");
  need(size_bytes / set_bytes <= 65536, name, size_bytes, "at most 65536 sets");
}

void check_entries(const std::string& name, std::uint32_t entries, std::uint32_t ways) {
  need(ways == 0 || entries % ways == 0, name, ways,
       "0 or a divisor of " + std::to_string(entries) + " entries");
}

void check_link(const LinkParameters& link) {
  need(link.back_bytes_per_s == 0 || link.back_bytes_per_s >= kMinBandwidth, "link.back_bandwidth",
       link.back_bytes_per_s, std::to_string(kMinBandwidth) + " or more");
  const LinkCost* before = nullptr;
  for (const LinkCost& cost : link.costs) {
    need(cost.size_bytes != 0 && cost.busy_ps != 0, "link.costs", 0, "more than 0 bytes and time");
    need_range("link.costs", cost.busy_ps, 1, kMaxWait);
    if (before != nullptr) {
      need(cost.size_bytes > before->size_bytes && cost.busy_ps >= before->busy_ps, "link.costs",
           cost.size_bytes, "points of rising size and time");
    }
    before = &cost;
  }
}

void check_faults(const FaultParameters& faults) {
  const bool only_latency =
      faults.block_ps == 0 && faults.page_ps == 0 && faults.first_ps == 0 && faults.evict_ps == 0;
  need(!side_by_side(faults.handling) || only_latency, "faults.page", faults.page_ps,
       "0, as faults.block, faults.first and faults.evict: with handling \"each\" and \"lanes\" "
       "a fault costs its latency alone");
}

}  // namespace

std::span<const Parameter> parameters() { return kParameters; }

std::span<const ParameterGroup> parameter_groups() { return kGroups; }

void check_machine(const ModelledMachine& machine) {
  for (const Parameter& one : kParameters) {
    need_range(std::string(one.group) + "." + one.name, one.get(machine), one.least, one.most);
  }
  check_cache("l1.size", machine.l1.size_bytes, machine.l1.ways);
  check_cache("partitions.l2_size", machine.partitions.l2_size_bytes, machine.partitions.l2_ways);
  check_entries("tlb.ways", machine.tlb.entries, machine.tlb.ways);
  check_entries("tlb.shared_ways", machine.tlb.shared_entries, machine.tlb.shared_ways);
  const std::uint32_t stripe = machine.network.partition_stripe_bytes;
  need(std::has_single_bit(stripe), "network.partition_stripe", stripe, "a power of two from 128");
  check_link(machine.link);
  check_faults(machine.faults);
}

}  // namespace isthmus::sim

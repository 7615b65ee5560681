#include "sim/migration/allocation_use.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace isthmus::sim {
namespace {

/// Finds allocations by address; of overlapping ones, the one that begins last.
class Finder {
public:
  explicit Finder(std::span<const trace::Allocation> allocations) : allocations_(allocations) {
    for (std::uint32_t index = 0; index < allocations.size(); ++index) by_address_.push_back(index);
    std::ranges::stable_sort(by_address_, {},
                             [&](std::uint32_t index) { return allocations_[index].address; });
  }

  /// Calls `visit` with the allocations at both ends of a line.
  template <class Visit>
  void at_line(std::uint64_t line, Visit&& visit) {
    const std::uint64_t begin = line * trace::kLineBytes;
    for (const std::uint64_t address : {begin, begin + trace::kLineBytes - 1}) {
      if (!holds(last_, address)) last_ = find(address);
      if (holds(last_, address)) visit(last_);
    }
  }

private:
  bool holds(std::uint32_t index, std::uint64_t address) const {
    if (index >= allocations_.size()) return false;
    const trace::Allocation& one = allocations_[index];
    return address >= one.address && address - one.address < one.size_bytes;
  }
  std::uint32_t find(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(
        by_address_, address, {},
        [this](std::uint32_t index) { return allocations_[index].address; });
    return after == by_address_.begin() ? ~0U : *(after - 1);
  }

  std::span<const trace::Allocation> allocations_;
  std::vector<std::uint32_t> by_address_;
  std::uint32_t last_ = ~0U;
};

/// Collects what blocks do to allocations.
class Uses {
public:
  explicit Uses(const trace::Program& program)
      : finder_(program.allocations), touched_(program.allocations.size()) {
    uses_.of_launch.resize(program.launches.size());
    uses_.of_allocation.resize(program.allocations.size());
  }

  void add(const trace::Block& block) {
    if (block.launch != launch_) close();
    launch_ = block.launch;
    for (std::size_t op = 0; op < block.kinds.size(); ++op) {
      const auto kind = static_cast<trace::OpKind>(block.kinds[op]);
      if (trace::is_local(kind)) continue;
      for (std::uint32_t line = block.line_begin[op]; line < block.line_begin[op + 1]; ++line) {
        add_line(block.lines[line], kind);
      }
    }
  }

  AllocationUses finish() {
    if (launch_ < uses_.of_launch.size()) close();
    return std::move(uses_);
  }

private:
  void add_line(std::uint64_t line, trace::OpKind kind) {
    std::uint32_t before = ~0U;
    finder_.at_line(line, [&](std::uint32_t index) {
      if (index == before) return;
      before = index;
      touched_[index] = true;
      AllocationUse& use = uses_.of_allocation[index];
      use.requested_bytes += trace::kLineBytes;
      use.stored = use.stored || kind != trace::OpKind::load;
      use.atomic = use.atomic || kind == trace::OpKind::atomic;
    });
  }

  void close() {
    for (std::uint32_t index = 0; index < touched_.size(); ++index) {
      if (touched_[index]) uses_.of_launch[launch_].push_back(index);
    }
    touched_.assign(touched_.size(), false);
  }

  Finder finder_;
  std::vector<bool> touched_;  // by the present launch
  std::size_t launch_ = 0;
  AllocationUses uses_;
};

}  // namespace

AllocationUses allocation_uses(trace::Source& source) {
  Uses uses(source.program());
  source.rewind();
  while (const auto block = source.next()) {
    if (block->launch >= source.program().launches.size()) break;
    uses.add(*block);
  }
  source.rewind();
  return uses.finish();
}

}  // namespace isthmus::sim

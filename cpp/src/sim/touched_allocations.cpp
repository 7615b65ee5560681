#include "sim/touched_allocations.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

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

void mark(const trace::Block& block, Finder& finder, std::vector<bool>& touched) {
  for (std::size_t op = 0; op < block.kinds.size(); ++op) {
    if (trace::is_local(static_cast<trace::OpKind>(block.kinds[op]))) continue;
    for (std::uint32_t line = block.line_begin[op]; line < block.line_begin[op + 1]; ++line) {
      finder.at_line(block.lines[line], [&](std::uint32_t index) { touched[index] = true; });
    }
  }
}

}  // namespace

std::vector<std::vector<std::uint32_t>> touched_allocations(trace::Source& source) {
  const trace::Program& program = source.program();
  const std::size_t num_allocations = program.allocations.size();
  Finder finder(program.allocations);
  std::vector<std::vector<std::uint32_t>> of_launch(program.launches.size());
  std::vector<bool> touched(num_allocations);
  std::size_t launch = 0;
  const auto close = [&] {
    for (std::uint32_t index = 0; index < num_allocations; ++index) {
      if (touched[index]) of_launch[launch].push_back(index);
    }
    touched.assign(num_allocations, false);
  };
  source.rewind();
  while (const auto block = source.next()) {
    if (block->launch >= program.launches.size()) break;
    if (block->launch != launch) close();
    launch = block->launch;
    mark(*block, finder, touched);
  }
  if (launch < program.launches.size()) close();
  source.rewind();
  return of_launch;
}

}  // namespace isthmus::sim

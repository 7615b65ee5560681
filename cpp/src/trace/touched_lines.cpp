#include "trace/touched_lines.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

namespace isthmus::trace {
namespace {

/// From an address to the one after the last.
struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

/// Sorted. Overlapping uploads are merged; adjacent ones are separate allocations.
std::vector<Extent> extents_of(const std::vector<HostStep>& uploads) {
  std::vector<Extent> sorted;
  sorted.reserve(uploads.size());
  for (const HostStep& step : uploads) {
    sorted.push_back({step.address, step.address + step.size_bytes});
  }
  std::ranges::sort(sorted, {}, &Extent::begin);
  std::vector<Extent> extents;
  for (const Extent& extent : sorted) {
    if (!extents.empty() && extent.begin < extents.back().end) {
      extents.back().end = std::max(extents.back().end, extent.end);
    } else {
      extents.push_back(extent);
    }
  }
  return extents;
}

/// Merges touched lines, given in order of address, to runs between the known extents.
class Runs {
public:
  explicit Runs(const std::vector<Extent>& known) : known_(known) {}

  void add(std::uint64_t address) {
    while (next_ < known_.size() && known_[next_].end <= address) ++next_;
    if (next_ < known_.size() && known_[next_].begin < address + kLineBytes) return;
    const bool near = !found_.empty() && address - found_.back().end < TouchedLines::kBlockBytes;
    if (!near || next_ != of_last_) found_.push_back({address, address});
    found_.back().end = address + kLineBytes;
    of_last_ = next_;
  }

  const std::vector<Extent>& found() const { return found_; }

private:
  const std::vector<Extent>& known_;
  std::vector<Extent> found_;
  std::size_t next_ = 0;  // the first known extent that ends after the line
  std::size_t of_last_ = std::numeric_limits<std::size_t>::max();
};

void append(const char* name, const std::vector<Extent>& extents, std::vector<Allocation>& all) {
  for (const Extent& extent : extents) {
    all.push_back({name, extent.begin, extent.end - extent.begin});
  }
}

}  // namespace

void TouchedLines::add(std::uint64_t line) {
  const std::uint64_t number = line / kLinesPerBlock;
  if (number != last_number_) {
    if (blocks_.size() == max_blocks_ && !blocks_.contains(number)) {
      throw UsageError(
          "the trace touches more than 512 GiB of address space: that can't be simulated");
    }
    last_ = &blocks_[number];
    last_number_ = number;
  }
  last_->set(line % kLinesPerBlock);
}

std::vector<std::uint64_t> TouchedLines::sorted_blocks() const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(blocks_.size());
  for (const auto& [number, lines] : blocks_) numbers.push_back(number);
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<Allocation> TouchedLines::allocations(const std::vector<HostStep>& uploads) const {
  const std::vector<Extent> known = extents_of(uploads);
  Runs runs(known);
  for (const std::uint64_t number : sorted_blocks()) {
    const Block& lines = blocks_.at(number);
    for (std::uint64_t i = 0; i < kLinesPerBlock; ++i) {
      if (lines.test(i)) runs.add((number * kLinesPerBlock + i) * kLineBytes);
    }
  }
  std::vector<Allocation> result;
  append("upload", known, result);
  append("touched", runs.found(), result);
  std::ranges::sort(result, {}, &Allocation::address);
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].name += '-';
    result[i].name += std::to_string(i);
  }
  return result;
}

}  // namespace isthmus::trace

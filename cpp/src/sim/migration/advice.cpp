#include "sim/migration/advice.hpp"

#include <algorithm>
#include <cstddef>

namespace isthmus::sim {
namespace {

using Kind = trace::HostStep::Kind;

/// The bytes of `step` that lie in `one`.
std::uint64_t common_bytes(const trace::HostStep& step, const trace::Allocation& one) {
  const std::uint64_t begin = std::max(step.address, one.address);
  const std::uint64_t end = std::min(step.address + step.size_bytes, one.address + one.size_bytes);
  return end > begin ? end - begin : 0;
}

/// What prefetching would take of the link for each allocation, in bytes: what the CPU writes before
/// a kernel, and what comes back and is brought again; and for each prefetch what it takes to begin.
class Moved {
public:
  Moved(const trace::Program& program, const AllocationUses& uses, std::uint64_t call_bytes,
        bool count_downloads)
      : program_(program),
        uses_(uses),
        call_bytes_(call_bytes),
        count_downloads_(count_downloads),
        bytes_(program.allocations.size()),
        absent_(program.allocations.size()) {}

  std::vector<std::uint64_t> operator()() {
    for (std::size_t launch = 0; launch < program_.launches.size(); ++launch) {
      for (const trace::HostStep& step : program_.launches[launch].before) add(step);
      for (const std::uint32_t index : uses_.of_launch[launch]) {
        if (absent_[index] != 0) bytes_[index] += absent_[index] + call_bytes_;
        absent_[index] = 0;
      }
    }
    for (const trace::HostStep& step : program_.after) add(step);
    return bytes_;
  }

private:
  void add(const trace::HostStep& step) {
    if (step.kind == Kind::upload_again) return;
    const bool writes = trace::copies_to_gpu(step.kind);
    for (std::size_t index = 0; index < bytes_.size(); ++index) {
      const trace::Allocation& one = program_.allocations[index];
      const std::uint64_t common = common_bytes(step, one);
      if (common == 0) continue;
      const bool goes_back = uses_.of_allocation[index].stored;
      if (goes_back && count_downloads_) bytes_[index] += common;
      if (goes_back || writes) absent_[index] = std::min(one.size_bytes, absent_[index] + common);
    }
  }

  const trace::Program& program_;
  const AllocationUses& uses_;
  std::uint64_t call_bytes_;
  bool count_downloads_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> absent_;  // on the CPU alone
};

}  // namespace

std::vector<Advice> advice_for(const trace::Program& program, const AllocationUses& uses,
                               std::uint64_t call_bytes, bool count_downloads) {
  const std::vector<std::uint64_t> moved = Moved(program, uses, call_bytes, count_downloads)();
  std::vector<Advice> advice;
  for (std::size_t index = 0; index < moved.size(); ++index) {
    const AllocationUse& use = uses.of_allocation[index];
    if (!use.atomic && use.requested_bytes <= moved[index]) {
      advice.push_back(Advice::in_place);
    } else {
      advice.push_back(use.stored ? Advice::on_gpu : Advice::read_mostly);
    }
  }
  return advice;
}

}  // namespace isthmus::sim

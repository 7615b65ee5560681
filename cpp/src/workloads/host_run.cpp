#include "workloads/host_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <isthmus/errors.hpp>

namespace isthmus::workloads {
namespace {

using trace::HostStep;

constexpr float kRelative = 1e-3F;
constexpr int kColour = 2;
constexpr std::uint64_t kMinValuesPerWrong = 1000;
constexpr std::uint64_t kFewWrong = 4;  // a ray of 1024 that grazes an edge colours a whole pixel
constexpr std::uint64_t kMaxWrongInARow = 31;

/// Counts values that are wrong, and how many are in a row.
struct Wrong {
  std::uint64_t num_values = 0, num_wrong = 0, in_a_row = 0, longest = 0;

  void add(bool is_wrong) {
    ++num_values;
    in_a_row = is_wrong ? in_a_row + 1 : 0;
    num_wrong += is_wrong ? 1 : 0;
    longest = std::max(longest, in_a_row);
  }
};

float float_at(const std::byte* bytes) {
  float value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// The scale below which a difference is rounding: a sum's parts may be larger than the sum.
float scale_of(std::span<const std::byte> expected) {
  float largest = 0;
  for (std::size_t i = 0; i + sizeof(float) <= expected.size(); i += sizeof(float))
    largest = std::max(largest, std::abs(float_at(&expected[i])));
  return largest;
}

Wrong wrong_floats(std::span<const std::byte> expected, std::span<const std::byte> found) {
  Wrong wrong;
  const float floor = kRelative * kRelative * scale_of(expected);
  for (std::size_t i = 0; i + sizeof(float) <= expected.size(); i += sizeof(float)) {
    const float one = float_at(&expected[i]);
    const float other = float_at(&found[i]);
    const float allowed = std::max(floor, kRelative * std::abs(one));
    wrong.add(!(std::abs(one - other) <= allowed));
  }
  return wrong;
}

Wrong wrong_bytes(std::span<const std::byte> expected, std::span<const std::byte> found,
                  int allowed) {
  Wrong wrong;
  for (std::size_t i = 0; i < expected.size(); ++i)
    wrong.add(std::abs(static_cast<int>(expected[i]) - static_cast<int>(found[i])) > allowed);
  return wrong;
}

Wrong wrong_values(Values values, std::span<const std::byte> expected,
                   std::span<const std::byte> found) {
  if (values == Values::floats) return wrong_floats(expected, found);
  return wrong_bytes(expected, found, values == Values::colours ? kColour : 0);
}

bool is_acceptable(Values values, const Wrong& wrong) {
  if (values == Values::integers) return wrong.num_wrong == 0;
  const std::uint64_t allowed = std::max(kFewWrong, wrong.num_values / kMinValuesPerWrong);
  return wrong.num_wrong <= allowed && wrong.longest <= kMaxWrongInARow;
}

/// Which lines of a program's memory kernels load before any has stored to them.
class FirstAccesses {
public:
  explicit FirstAccesses(std::uint64_t memory_bytes)
      : stored_(memory_bytes / trace::kLineBytes + 1), loaded_first_(stored_.size()) {}

  /// The warps of a block count as one after the other.
  void add(const trace::Block& block) {
    for (std::size_t op = 0; op < block.kinds.size(); ++op) {
      const auto kind = static_cast<trace::OpKind>(block.kinds[op]);
      if (trace::is_local(kind)) continue;
      const bool stores = kind == trace::OpKind::store;
      for (std::uint32_t i = block.line_begin[op]; i < block.line_begin[op + 1]; ++i)
        add(block.lines[i] - Heap::kFirstAddress / trace::kLineBytes, stores);
    }
  }
  bool any_loaded_first(const Part& part) const {
    const auto begin = loaded_first_.begin() + std::ptrdiff_t(part.first / trace::kLineBytes);
    const auto end = loaded_first_.begin() +
                     std::ptrdiff_t((part.first + part.size_bytes - 1) / trace::kLineBytes + 1);
    return std::find(begin, end, true) != end;
  }

private:
  void add(std::uint64_t line, bool stores) {
    if (stores)
      stored_[line] = true;
    else if (!stored_[line])
      loaded_first_[line] = true;
  }

  std::vector<bool> stored_, loaded_first_;
};

/// Steps are about whole allocations.
bool begins_as(const std::vector<Part>& parts, const Part& part) {
  return std::ranges::any_of(parts, [&](const Part& one) { return one.first == part.first; });
}

}  // namespace

HostRun::HostRun(std::unique_ptr<Workload> workload)
    : workload_(workload.get()), recorder_(std::move(workload)) {
  note_steps();
  memory_ = now();
  FirstAccesses accesses(memory_.size());
  while (const std::optional<trace::Block> block = recorder_.next()) accesses.add(*block);
  after_ = now();
  for (const trace::Allocation& one : program().allocations) {
    const Part part{one.address - Heap::kFirstAddress, one.size_bytes};
    if (std::memcmp(&memory_[part.first], &after_[part.first], part.size_bytes) != 0)
      changed_.push_back(part);
  }
  for (const Part& part : changed_)
    if (!begins_as(uploaded_, part) && !begins_as(touched_, part)) made_.push_back(part);
  for (const Part& part : made_)
    if (!accesses.any_loaded_first(part)) filled_.push_back(part);
  prepare_launches();
}

void HostRun::note_steps() {
  for (const trace::Launch& launch : program().launches)
    for (const HostStep& step : launch.before) {
      if (step.kind == HostStep::Kind::upload) uploaded_.push_back(part_of(step));
      if (step.kind == HostStep::Kind::read || step.kind == HostStep::Kind::write)
        touched_.push_back(part_of(step));
    }
  for (const HostStep& step : program().after)
    if (step.kind == HostStep::Kind::download) results_.push_back(part_of(step));
}

void HostRun::prepare_launches() {
  for (std::uint32_t index = 0; index < program().launches.size(); ++index) {
    workload_->before(index);
    ReadyLaunch& ready = launches_.emplace_back();
    ready.call = workload_->call(index);
    if (ready.call.kernel.empty())
      throw UsageError("workload '" + program().name + "' has no kernels for GPUs yet");
    for (const HostStep& step : program().launches[index].before) {
      std::vector<std::byte>& bytes = ready.written.emplace_back();
      if (step.kind != HostStep::Kind::write) continue;
      bytes.resize(step.size_bytes);
      workload_->heap().read(step.address, bytes);
    }
  }
}

std::vector<std::byte> HostRun::now() const {
  std::vector<std::byte> memory(workload_->heap().size_bytes());
  for (const trace::Allocation& one : program().allocations)
    workload_->heap().read(
        one.address, std::span(memory).subspan(one.address - Heap::kFirstAddress, one.size_bytes));
  return memory;
}

std::string HostRun::difference(std::span<const std::byte> memory) const {
  for (const Part& part : results_) {
    const auto expected = std::span(after_).subspan(part.first, part.size_bytes);
    const Wrong wrong =
        wrong_values(workload_->results(), expected, memory.subspan(part.first, part.size_bytes));
    if (is_acceptable(workload_->results(), wrong)) continue;
    return std::to_string(wrong.num_wrong) + " of " + std::to_string(wrong.num_values) +
           " results at byte " + std::to_string(part.first) +
           " of the memory aren't the host's, at most " + std::to_string(wrong.longest) +
           " in a row";
  }
  return {};
}

}  // namespace isthmus::workloads

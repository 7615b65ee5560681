#include "transfer/many/many_copies.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/many/disjoint.hpp"
#include "transfer/many/known_ranges.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/stream_order.hpp"

namespace isthmus::transfer {
namespace {

using Pending = std::shared_ptr<PendingCopy>;

constexpr const char* kUndefined = "all bytes of the call's targets are undefined";

/// Called while the exception of a call is handled, some of whose copies may have begun: waits for
/// those, and throws it again.
[[noreturn]] void throw_after(const std::vector<Pending>& begun) {
  bool idle = true;
  for (const Pending& pending : begun) {
    try {
      pending->wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the first failure is the one that is told
    }
    idle = pending->over() && idle;
  }
  if (!idle) throw_of_memory_in_use();
  if (begun.empty()) throw;
  try {
    throw;
  } catch (const DriverError& error) {
    error.throw_adding(kUndefined);
    throw;
  } catch (const UsageError& error) {
    throw UsageError(std::string(error.what()) + "; " + kUndefined);
  } catch (const Unavailable& error) {
    throw Unavailable(error.capability(), error.reason() + "; " + kUndefined, error.needs());
  }
}

/// True for a copy that goes on after the call.
bool goes_on(const PlannedCopies& planned) {
  const auto& [plan, request] = planned;
  return request.when != Return::complete && !plan.recorded && plan.device != nullptr;
}

bool is_of_device(const ManyCopy& copy) {
  return is_on_device(copy.options.target_kind) || is_on_device(copy.options.source_kind);
}

/// Short arrays cross in less time than beginning to copy them takes: 4 KiB in 0.1 us of a fast
/// link, beside 0.3 us for each array of a list. Source:
/// benchmarks/frontdoor/h200/lists_begun.json.
bool are_made_sooner_than_begun(std::span<const ManyCopy> copies) {
  return std::ranges::all_of(
      copies, [](const ManyCopy& copy) { return copy.size_bytes <= 4096 && is_of_device(copy); });
}

/// True for a long copy that the call waits for, and whose bytes the CPU moves. Waking a thread
/// takes as long as some hundred KiB of a fast link.
bool keeps_caller_busy(const PlannedCopies& planned) {
  const auto& [plan, request] = planned;
  const bool by_cpu = plan.path == CopyPath::staged ||
                      (plan.path == CopyPath::driver && !plan.ends.is_ordered_by_driver());
  return request.when == Return::complete && by_cpu && plan.device != nullptr && !plan.recorded &&
         plan.ends.size_bytes >= std::size_t{4} << 20U;
}

}  // namespace

/// Copies of 0 bytes and repeated ones are left out.
std::vector<Member> ManyCopies::examine_all(std::span<const ManyCopy> copies, Return when) {
  const bool needed = std::ranges::any_of(copies, is_of_device);
  const Devices::AnyContext any = devices_.any_context(needed);
  KnownRanges known(driver_, host_memory_);
  std::vector<Member> members;
  std::vector<std::size_t> indices;
  members.reserve(copies.size());
  indices.reserve(copies.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const ManyCopy& copy = copies[i];
    if (copy.size_bytes == 0) continue;
    try {
      const Request request = request_of(copy.options, when);
      members.push_back({examine(driver_, host_memory_, copy.target, copy.source, copy.size_bytes,
                                 request, any.exists, &known),
                         request});
      indices.push_back(i);
    } catch (const UsageError& refusal) {
      throw RefusedCopy(i, refusal.what());
    }
  }
  try {
    make_disjoint(members);
  } catch (const RefusedCopy& refusal) {
    throw refusal.renumbered([&](std::size_t member) { return indices[member]; });
  }
  return members;
}

/// True if no stream of these copies has work: then nobody is kept waiting by making them at once.
bool ManyCopies::find_idle(std::span<const Member> members) {
  const Member* before = nullptr;
  return std::ranges::all_of(members, [&](const Member& member) {
    const CUstream stream = member.request.stream;
    const bool known = before != nullptr && before->task.device == member.task.device &&
                       before->request.stream == stream;
    before = &member;
    if (known) return true;
    if (member.task.device < 0) return false;
    const auto context = devices_.context_of(member.task, stream);
    return !is_captured(driver_, stream) && is_idle(driver_, stream);
  });
}

std::vector<PlannedCopies> ManyCopies::plan(std::span<const ManyCopy> copies, Return when) {
  if (when == Return::complete || are_made_sooner_than_begun(copies)) {
    const std::vector<Member> members = examine_all(copies, Return::complete);
    if (when == Return::complete || find_idle(members)) return many_chooser_.ready(members);
  }
  std::vector<Member> members = examine_all(copies, when);
  for (Member& member : members) {
    const auto context = devices_.context_of(member.task, member.request.stream);
    member.returns_alone = chooser_.when_to_return(member.task, member.request);
  }
  return many_chooser_.ready(members);
}

/// Begins those copies that would keep the caller busy, of other devices than the first of them:
/// each device has a link of its own.
///
/// Returns     of each planned copy, whether it is
std::vector<bool> ManyCopies::begin_beside(std::span<const PlannedCopies> planned,
                                           std::vector<Pending>& begun) {
  std::vector<bool> is_begun(planned.size(), false);
  const auto first = std::ranges::find_if(planned, keeps_caller_busy);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const auto& [plan, request] = planned[i];
    if (!keeps_caller_busy(planned[i]) || plan.device == first->plan.device) continue;
    const auto context = devices_.context_for(plan.device, request.stream);
    if (plan.device->context().is_foreign_current()) continue;
    Pending pending = carriers_.begin_beside(plan, request);
    is_begun[i] = pending != nullptr;
    if (is_begun[i]) begun.push_back(std::move(pending));
  }
  return is_begun;
}

/// On return the copies whose request is Return::complete are.
std::vector<Pending> ManyCopies::begin(std::span<const PlannedCopies> planned) {
  std::vector<Pending> begun;
  std::vector<Pending> awaited;
  try {
    begun.reserve(planned.size());
    awaited.reserve(planned.size());
    for (const PlannedCopies& each : planned)
      if (goes_on(each)) carriers_.prepare_to_begin(each.plan, each.request);
    const std::vector<bool> is_begun = begin_beside(planned, begun);
    awaited.assign(begun.begin(), begun.end());
    for (std::size_t i = 0; i < planned.size(); ++i) {
      if (is_begun[i]) continue;
      const auto& [plan, request] = planned[i];
      const auto context = devices_.context_for(plan.device, request.stream);
      if (goes_on(planned[i])) {
        begun.push_back(carriers_.begin(plan, request));
        continue;
      }
      // One alone has nothing to overlap with: carry() also times it.
      Pending early = planned.size() == 1 ? nullptr : carriers_.begin_early(plan, request);
      if (early != nullptr) {
        awaited.push_back(early);
        begun.push_back(std::move(early));
        continue;
      }
      begun.push_back(PendingCopy::complete());
      carriers_.carry(plan, request);
    }
    for (const Pending& pending : awaited) pending->wait();
  } catch (...) {
    throw_after(begun);
  }
  return begun;
}

std::vector<PathShare> ManyCopies::explain(std::span<const ManyCopy> copies) {
  const std::vector<Member> members = examine_all(copies, Return::complete);
  std::array<PathShare, kCountedPaths.size() + 1> shares;
  for (const auto& [plan, request] : many_chooser_.choose(members)) {
    const bool by_cpu = plan.device == nullptr;
    PathShare& share = shares[by_cpu ? kCountedPaths.size() : static_cast<std::size_t>(plan.path)];
    share.path = plan.path;
    share.by_cpu = by_cpu;
    share.num_copies += plan.num_copies();
    share.size_bytes += plan.ends.size_bytes;
    share.seconds += std::max(0.0, plan.predicted_seconds);
  }
  std::vector<PathShare> taken;
  std::ranges::copy_if(shares, std::back_inserter(taken),
                       [](const PathShare& share) { return share.num_copies > 0; });
  return taken;
}

Pending ManyCopies::copy_async(std::span<const ManyCopy> copies, SourceOrder source_order) {
  auto all = std::make_shared<PendingCopy>();  // nothing may fail once copies are running
  all->stand_for(begin(plan(copies, return_for(source_order))));
  return all;
}

}  // namespace isthmus::transfer

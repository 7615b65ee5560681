// Many copies by one call: all are examined and planned before the first begins.
#include <exception>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/copy/engine.hpp"
#include "transfer/copy/failed_copy.hpp"
#include "transfer/many/disjoint.hpp"
#include "transfer/many/known_ranges.hpp"
#include "transfer/many/refused_copy.hpp"

namespace isthmus::transfer {
namespace {

using Pending = std::shared_ptr<PendingCopy>;

constexpr const char* kUndefined = "all bytes of the call's targets are undefined";

/// Called while the exception of a call is handled, some of whose copies may have begun: waits for
/// those, and throws it again.
[[noreturn]] void throw_after(const std::vector<Pending>& begun) {
  bool at_rest = true;
  for (const Pending& pending : begun) {
    try {
      pending->wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the first failure is the one that is told
    }
    at_rest = pending->over() && at_rest;
  }
  if (!at_rest) throw_of_memory_in_use();
  try {
    throw;
  } catch (const DriverError& error) {
    if (!begun.empty()) error.throw_adding(kUndefined);
    throw;
  } catch (const UsageError& error) {
    if (begun.empty()) throw;
    throw UsageError(std::string(error.what()) + "; " + kUndefined);
  }
}

}  // namespace

/// Copies of 0 bytes are left out.
std::vector<Member> Engine::examine_many(std::span<const ManyCopy> copies, Return when) {
  KnownRanges known(driver, host_memory_);
  std::vector<Member> members;
  std::vector<Task> tasks;
  std::vector<std::size_t> indices;
  members.reserve(copies.size());
  tasks.reserve(copies.size());
  indices.reserve(copies.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const ManyCopy& copy = copies[i];
    if (copy.size_bytes == 0) continue;
    try {
      const Request request = request_of(copy.options, when);
      tasks.push_back(examine(driver, host_memory_, copy.target, copy.source, copy.size_bytes,
                              request, &known));
      members.push_back({tasks.back(), request});
      indices.push_back(i);
    } catch (const UsageError& refusal) {
      throw RefusedCopy(i, refusal.what());
    }
  }
  try {
    require_disjoint(tasks);
  } catch (const RefusedCopy& refusal) {
    throw refusal.renumbered([&](std::size_t task) { return indices[task]; });
  }
  return members;
}

std::vector<PlannedCopies> Engine::plan_many(std::span<const ManyCopy> copies, Return when) {
  std::vector<Member> members = examine_many(copies, when);
  for (Member& member : members) {
    if (when == Return::complete) break;
    std::optional<ContextOfDevice> context;
    if (member.task.device >= 0) context.emplace(devices_.at(member.task.device).context());
    member.returns_alone = when_to_return(member.task, member.request);
  }
  return many_chooser_.ready(members, nvrtc());
}

/// Begins a copy whose call waits for it later, so that copies overlap.
///
/// Returns     null if it can't be begun without carrying it
Pending Engine::begin_early(const Plan& plan, const Request& request) {
  if (plan.device == nullptr || plan.recorded) return nullptr;
  Request early = request;
  early.when = plan.uploads() ? Return::source_free : Return::begun;
  auto pending = carrier(plan.path).begin(plan, early);
  if (pending != nullptr) statistics.count(plan.path, plan.ends.size_bytes, plan.num_copies());
  return pending;
}

/// On return the copies whose request is Return::complete are.
std::vector<Pending> Engine::begin_many(std::span<const PlannedCopies> planned) {
  std::vector<Pending> begun;
  std::vector<Pending> awaited;
  try {
    begun.reserve(planned.size());
    awaited.reserve(planned.size());
    for (const auto& [plan, request] : planned) {
      std::optional<ContextOfDevice> context;
      if (plan.device != nullptr) context.emplace(plan.device->context());
      if (request.when != Return::complete && !plan.recorded && plan.device != nullptr) {
        begun.push_back(begin(plan, request));
        continue;
      }
      // One alone has nothing to overlap with: carry() also times it.
      Pending early = planned.size() == 1 ? nullptr : begin_early(plan, request);
      if (early != nullptr) {
        awaited.push_back(early);
        begun.push_back(std::move(early));
        continue;
      }
      begun.push_back(PendingCopy::complete());
      carry(plan, request);
    }
    for (const Pending& pending : awaited) pending->wait();
  } catch (...) {
    throw_after(begun);
  }
  return begun;
}

void Engine::copy_many(std::span<const ManyCopy> copies) {
  require_own_process();
  begin_many(plan_many(copies, Return::complete));
}

Pending Engine::copy_many_async(std::span<const ManyCopy> copies, SourceOrder source_order) {
  require_own_process();
  const Return when = source_order == SourceOrder::call ? Return::source_free : Return::begun;
  auto all = std::make_shared<PendingCopy>();  // nothing may fail once copies are running
  all->stand_for(begin_many(plan_many(copies, when)));
  return all;
}

std::string Engine::nvrtc() {
  const std::lock_guard lock(mutex_);
  return nvrtc_;
}

void Engine::use_nvrtc(std::string library) {
  const std::lock_guard lock(mutex_);
  nvrtc_ = std::move(library);
}

}  // namespace isthmus::transfer

// What a copy is asked to do: its two ends, checked.
#include <string>

#include <isthmus/errors.hpp>

#include "device/pointer_facts.hpp"
#include "host/system/printable.hpp"
#include "transfer/many/known_ranges.hpp"
#include "transfer/request/task.hpp"

namespace isthmus::transfer {
namespace {

/// By now the host may have mapped something else at the address.
[[noreturn]] void refuse_freed(const void* pointer) {
  throw UsageError(
      "CUDA knows no device memory at " +
      host::address_text(reinterpret_cast<std::uintptr_t>(pointer)) +
      ", but the copy's options say that there is some: it was freed, or never was a GPU's");
}

/// Asks about the ends of copies.
struct Asking {
  const Driver& driver;
  bool has_context;
  KnownRanges* known;  ///< null: each time anew
  std::size_t size_bytes;
};

MemoryRange range_of(const Asking& asking, End end, const void* pointer, MemoryKind hint,
                     bool pinned_matters) {
  if (!asking.has_context) {
    if (is_on_device(hint)) asking.driver.require_devices();
    return {};
  }
  // For device memory the device and the buffer must be known, too.
  if (hint == MemoryKind::pageable || hint == MemoryKind::pinned) return {hint, -1, 0, 0, 0};
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const MemoryRange range = asking.known == nullptr
                                ? range_at(asking.driver, address)
                                : asking.known->at(end, address, asking.size_bytes,
                                                   pinned_matters || hint == MemoryKind::device);
  if (hint == MemoryKind::device && range.kind == MemoryKind::pageable) refuse_freed(pointer);
  return range;
}

void require_apart(const void* target, const void* source, std::size_t size_bytes) {
  const auto to = reinterpret_cast<std::uintptr_t>(target);
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  const std::uintptr_t distance = to > from ? to - from : from - to;
  if (distance < size_bytes)
    throw UsageError("source and target of the copy overlap by " +
                     std::to_string(size_bytes - distance) + " of " + std::to_string(size_bytes) +
                     " bytes; copy through a third buffer");
}

bool is_host(MemoryKind kind) { return kind == MemoryKind::pageable || kind == MemoryKind::pinned; }

/// True if the beginning of a copy's end is pinned but the range extends past the pinned memory.
/// Then the kind of its last byte is used, if that isn't pinned, too: between two pinned regions
/// anything may lie.
bool leaves_registration(const Driver& driver, MemoryRange& range, const void* begin,
                         std::size_t size_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  if (range.kind != MemoryKind::pinned || !reaches_past(range, address, size_bytes)) return false;
  if (is_pinned(driver, address, size_bytes)) return true;
  const MemoryKind last = range_at(driver, address + size_bytes - 1).kind;
  range.kind = last == MemoryKind::pinned ? MemoryKind::pageable : last;
  return true;
}

void find_direction(Task& task) {
  const bool to_host = is_host(task.target.kind);
  const bool from_host = is_host(task.source.kind);
  task.device = task.target.device >= 0 && !to_host ? task.target.device : task.source.device;
  if (to_host && from_host) task.device = -1;
  task.crossing.size_bytes = task.ends.size_bytes;
  task.crossing.direction = to_host ? Direction::device_to_host : Direction::host_to_device;
  task.crossing.host_kind = to_host ? task.target.kind : task.source.kind;
  task.crosses = (to_host && task.source.kind == MemoryKind::device) ||
                 (from_host && task.target.kind == MemoryKind::device);
}

/// Memory that CUDA doesn't know is the host's or unmapped. Checks it, so that the CPU doesn't find
/// out by a signal.
void require_touchable(const HostMemory& host_memory, Task& task, const Request& request) {
  CopyEnds& ends = task.ends;
  const auto vanishes = [&](const void* end, MemoryKind hint, host::Access access,
                            const char* role) {
    if (is_said_to_be_host(hint)) return false;
    const HostTouch touch = host_memory.touch_pageable(end, ends.size_bytes, access);
    if (touch == HostTouch::forbidden) refuse_untouchable(role, access);
    return touch == HostTouch::by_kernel;
  };
  if (ends.source_kind == MemoryKind::pageable && !task.source.touchable)
    ends.source_may_vanish =
        vanishes(ends.source, request.source_kind, host::Access::read, "source");
  if (ends.target_kind == MemoryKind::pageable && !task.target.touchable)
    ends.target_may_vanish =
        vanishes(ends.target, request.target_kind, host::Access::write, "target");
}

}  // namespace

void refuse_untouchable(const char* role, host::Access access) {
  throw UsageError("the " + std::string(role) + " of the copy is not memory that can be " +
                   (access == host::Access::read ? "read" : "written") +
                   ": nothing is there (a buffer of a GPU that was freed looks like that), it is "
                   "protected, or its file ends before it does");
}

Task examine(const Driver& driver, const HostMemory& host_memory, void* target, const void* source,
             std::size_t size_bytes, const Request& request, bool has_context, KnownRanges* known) {
  if (target == nullptr || source == nullptr)
    throw UsageError(std::string("the ") + (target == nullptr ? "target" : "source") +
                     " of the copy is a null pointer");
  require_apart(target, source, size_bytes);
  Task task;
  const Asking asking{driver, has_context, known, size_bytes};
  // Later work of the stream is ordered after a download only if its target is pinned.
  task.target =
      range_of(asking, End::target, target, request.target_kind, request.when != Return::complete);
  task.source = range_of(asking, End::source, source, request.source_kind, false);
  require_inside(driver, task.target, reinterpret_cast<std::uintptr_t>(target), size_bytes,
                 "target");
  require_inside(driver, task.source, reinterpret_cast<std::uintptr_t>(source), size_bytes,
                 "source");
  const bool target_spans = leaves_registration(driver, task.target, target, size_bytes);
  const bool source_spans = leaves_registration(driver, task.source, source, size_bytes);
  const bool spans = target_spans || source_spans;
  task.ends = {target, source, size_bytes, task.target.kind, task.source.kind, spans};
  require_touchable(host_memory, task, request);
  find_direction(task);
  return task;
}

Task examine(const Driver& driver, void* target, const FileSource& source, std::size_t size_bytes) {
  if (target == nullptr) throw UsageError("the target of the copy is a null pointer");
  const auto address = reinterpret_cast<std::uintptr_t>(target);
  Task task;
  task.target = range_at(driver, address);
  if (task.target.kind != MemoryKind::device)
    throw UsageError("a file is copied to a GPU's own memory; the target is " +
                     std::string(name_of(task.target.kind)) + " memory");
  require_inside(driver, task.target, address, size_bytes, "target");
  task.ends = {target, nullptr, size_bytes, MemoryKind::device, MemoryKind::pageable};
  task.file = &source;
  find_direction(task);
  return task;
}

}  // namespace isthmus::transfer

#include "transfer/many/strided_copies.hpp"

#include <cstdint>
#include <string>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/carriers/driver_copy.hpp"
#include "transfer/movers/layouts.hpp"
#include "transfer/movers/piece_mover.hpp"
#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {

/// One end, checked.
struct StridedEnd {
  MemoryRange range;
  const std::byte* begin = nullptr;  ///< of its memory
  std::size_t size_bytes = 0;

  bool on_device() const noexcept { return is_on_device(range.kind); }
};

/// A copy between two layouts, checked.
struct StridedTask {
  StridedEnd target;
  StridedEnd source;
  int device = -1;

  bool is_pageable() const noexcept {
    return target.range.kind == MemoryKind::pageable || source.range.kind == MemoryKind::pageable;
  }
};

namespace {

StridedEnd examine_end(const Driver& driver, const HostMemory& host_memory, const void* first,
                       const Layouts::Span& span, host::Access access, const char* role) {
  if (first == nullptr)
    throw UsageError("the " + std::string(role) + " of the copy is a null pointer");
  StridedEnd end{{}, static_cast<const std::byte*>(first) + span.begin, span.size_bytes};
  const auto address = reinterpret_cast<std::uintptr_t>(end.begin);
  end.range = range_at(driver, address);
  require_inside(driver, end.range, address, end.size_bytes, role);
  if (end.on_device()) return end;
  if (!is_pinned_whole(driver, end.range, address, end.size_bytes))
    end.range.kind = MemoryKind::pageable;
  // The driver may have made pinned memory of a file of its own; the CPU doesn't touch it here.
  if (end.range.kind == MemoryKind::pinned) return end;
  if (host_memory.touch(end.begin, end.size_bytes, access) != HostTouch::direct)
    throw UsageError("the " + std::string(role) +
                     " of a copy between two layouts must be ordinary memory, and not a mapped "
                     "file's: copy it first");
  return end;
}

void require_apart(const StridedEnd& target, const StridedEnd& source) {
  if (target.begin < source.begin + source.size_bytes &&
      source.begin < target.begin + target.size_bytes)
    throw UsageError(
        "the memory of source and target of the copy overlaps; copy through a third buffer");
}

StridedTask examine_strided(const Driver& driver, const HostMemory& host_memory,
                            const StridedCopy& copy, const Layouts& layouts) {
  StridedTask task{examine_end(driver, host_memory, copy.target, layouts.target_span(),
                               host::Access::write, "target"),
                   examine_end(driver, host_memory, copy.source, layouts.source_span(),
                               host::Access::read, "source")};
  const auto& [target, source, device] = task;
  require_apart(target, source);
  if (!target.on_device() && !source.on_device())
    throw UsageError("a copy between two layouts needs a device's memory at one end");
  if (target.on_device() && source.on_device() && source.range.device != target.range.device)
    throw UsageError("these two layouts are on different devices: copy to one of them first");
  const bool host_is_dense = (target.on_device() || layouts.target_is_dense()) &&
                             (source.on_device() || layouts.source_is_dense());
  if (!host_is_dense) throw UsageError("the host's end of a copy between two layouts has gaps");
  task.device = target.on_device() ? target.range.device : source.range.device;
  return task;
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// By a kernel, which reads and writes pinned memory itself.
void enqueue_by_kernel(const PieceMover& mover, const StridedCopy& copy, const Layouts& layouts,
                       CUstream stream) {
  mover.move_items(
      layouts, {address_of(copy.target), address_of(copy.source), 0, layouts.num_items()}, stream);
}

/// Through the staging ring, whose slots a kernel fills or empties; complete on return.
void copy_staged(DevicePaths& paths, const StridedTask& task, const StridedCopy& copy,
                 const Layouts& layouts, CUstream stream) {
  const bool up = task.target.on_device();
  const ItemCrossing crossing(paths.mover(), layouts, up ? copy.target : copy.source);
  const std::size_t num_items = layouts.num_items();
  if (up)
    return paths.ring().upload(crossing, static_cast<const std::byte*>(copy.source),
                               num_items * layouts.source_item_bytes(), stream);
  paths.ring().download(static_cast<std::byte*>(copy.target), crossing,
                        num_items * layouts.target_item_bytes(), stream);
}

}  // namespace

/// A copy that can be made, and how.
struct StridedCopies::Checked {
  Layouts layouts;
  CUstream stream;
  StridedTask task;
  DevicePaths* paths = nullptr;  ///< null: there is nothing to copy
  bool by_driver = false;
};

StridedCopies::Checked StridedCopies::checked(const StridedCopy& copy, const CopyOptions& options) {
  const Request request = request_of(options, Return::complete);
  if (request.path)
    throw Unavailable("a copy between two layouts by " + std::string(name_of(*request.path)),
                      "the driver copies its rows, or a kernel its items", "no named path");
  Checked checked{Layouts(copy), request.stream, {}, nullptr, false};
  const Layouts& layouts = checked.layouts;
  if (layouts.num_items() == 0) return checked;
  driver_.require_devices();
  const Devices::AnyContext any = devices_.any_context(true);
  checked.task = examine_strided(driver_, host_memory_, copy, layouts);
  checked.paths = &devices_.at(checked.task.device);
  const ContextOfDevice context(checked.paths->context());
  if (is_captured(driver_, request.stream))
    throw Unavailable("a copy between two layouts", "the stream is being captured",
                      "a stream that isn't captured");
  // The driver copies shorter rows one by one, each slower than the link.
  const bool suits_driver =
      layouts.fits_driver() && !checked.task.is_pageable() && layouts.row_bytes() >= 512;
  const std::string obstacle =
      suits_driver ? std::string() : kernel_obstacle(*checked.paths, layouts);
  if (!obstacle.empty() && !layouts.fits_driver())
    throw Unavailable(
        layouts.converts() ? "a copy that converts items" : "a copy between these two layouts",
        obstacle,
        layouts.converts() ? "NVRTC: pip install \"isthmus[cuda13]\"; or arrays of the same type"
                           : "NVRTC: pip install \"isthmus[cuda13]\"; or arrays without gaps");
  checked.by_driver = suits_driver || !obstacle.empty();
  return checked;
}

/// Why no kernel can make such a copy; empty if one can.
std::string StridedCopies::kernel_obstacle(DevicePaths& paths, const Layouts& layouts) {
  std::string obstacle = devices_.kernel_obstacle(paths);
  if (obstacle.empty() && layouts.converts()) obstacle = paths.mover().conversion_obstacle();
  return obstacle;
}

void StridedCopies::check(const StridedCopy& copy, const CopyOptions& options) {
  checked(copy, options);
}

/// Copies pageable memory through the ring. Returns false if the driver or a kernel must copy:
/// without memory to pin for the ring the driver does, if it can.
bool StridedCopies::stage(const Checked& made, const StridedCopy& copy) {
  const auto& [layouts, stream, task, paths, by_driver] = made;
  if (by_driver || !task.is_pageable()) return false;
  const auto copy_all = [&] { copy_staged(*paths, task, copy, layouts, stream); };
  if (layouts.fits_driver()) return paths->try_ring(copy_all);
  copy_all();
  return true;
}

void StridedCopies::enqueue(const Checked& made, const StridedCopy& copy) {
  const auto& [layouts, stream, task, paths, by_driver] = made;
  if (!by_driver && !task.is_pageable())
    return enqueue_by_kernel(paths->mover(), copy, layouts, stream);
  enqueue_by_driver(driver_, layouts, copy.target, task.target.on_device(), copy.source,
                    task.source.on_device(), stream);
}

void StridedCopies::copy(const StridedCopy& copy, const CopyOptions& options) {
  const Checked made = checked(copy, options);
  if (made.paths == nullptr) return;
  const ContextOfDevice context(made.paths->context());
  // The ring has waited for its copy, in a stream of its own: what others enqueue in the caller's
  // stream meanwhile doesn't concern this copy.
  if (stage(made, copy)) return;
  try {
    enqueue(made, copy);
  } catch (...) {
    throw_once_idle(driver_, made.stream);
  }
  wait_for_copies(driver_, made.stream);
}

}  // namespace isthmus::transfer

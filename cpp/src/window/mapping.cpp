#include "window/mapping.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"
#include "window/copies/device_copy.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window {
void Bar1Budget::take(std::uint64_t size_bytes) {
  const std::uint64_t before = used_bytes_.fetch_add(size_bytes);
  if (limit_bytes_ == 0 || before + size_bytes <= limit_bytes_) return;
  used_bytes_ -= size_bytes;
  throw Unavailable("window of " + std::to_string(size_bytes) + " bytes",
                    "windows already map " + std::to_string(before) + " of the " +
                        std::to_string(limit_bytes_) + " bytes of BAR1 they may use",
                    "fewer or smaller windows, or a higher ISTHMUS_WINDOW_BAR1_MIB");
}

Mapping::Mapping(const Context& context, Backend& backend, std::shared_ptr<Bar1Budget> budget,
                 std::vector<Allocation> allocations, DevicePages pages)
    : context_(context),
      copy_(streaming_copy_of(context.driver(), context.device().ordinal)),
      backend_(backend.kind()),
      budget_(std::move(budget)),
      allocations_(std::move(allocations)),
      pages_(pages) {
  budget_->take(pages_.size_bytes);
  try {
    map_pieces(context, backend);
  } catch (...) {
    budget_->give_back(pages_.size_bytes);
    throw;
  }
}

Mapping::~Mapping() {
  pieces_.clear();
  budget_->give_back(pages_.size_bytes);
}

void Mapping::map_pieces(const Context& context, Backend& backend) {
  // For memory of a context that a program made (cuCtxCreate), CUDA answers best in that context.
  const ScopedForkDelay no_forks;
  const CUcontext own = allocations_.front().context;
  const CurrentContext current(context.driver(), own != nullptr ? own : context.handle());
  if (allocations_.size() == 1) {
    add(backend.map(context, allocations_.front(), pages_, nullptr));
    data_ = pieces_.front()->data();
    return;
  }
  void* const reserved = reserve_host_pages(pages_.size_bytes);
  reserved_ = std::make_unique<MappedHostPages>(reserved, pages_.size_bytes);
  data_ = static_cast<std::byte*>(reserved);
  const std::uintptr_t end = pages_.begin + pages_.size_bytes;
  for (const Allocation& allocation : allocations_) {
    const std::uintptr_t piece_begin = std::max(allocation.base, pages_.begin);
    const std::uintptr_t piece_end = std::min(allocation.base + allocation.size_bytes, end);
    add(backend.map(context, allocation, {piece_begin, piece_end - piece_begin}, at(piece_begin)));
    // The piece unmaps its pages. Unmapping them again could unmap another thread's pages.
    reserved_->give_up_before(at(piece_end));
  }
}

void Mapping::add(std::unique_ptr<PageMapping> piece) {
  shared_ |= piece->shared();
  if (found_by_ != FoundBy::record) found_by_ = piece->found_by();
  pieces_.push_back(std::move(piece));
}

bool Mapping::covers(DevicePages wanted) const noexcept {
  return wanted.begin >= pages_.begin &&
         wanted.begin + wanted.size_bytes <= pages_.begin + pages_.size_bytes;
}

bool Mapping::holds(DevicePages range) const noexcept {
  const Allocation& last = allocations_.back();
  return range.begin >= allocations_.front().base &&
         range.begin + range.size_bytes <= last.base + last.size_bytes;
}

void Mapping::count_in(const std::shared_ptr<StepTotals>& totals) noexcept {
  for (const auto& piece : pieces_) piece->count_in(totals);
}

bool Mapping::buffers_are_alive() const noexcept {
  return std::all_of(allocations_.begin(), allocations_.end(), [this](const Allocation& one) {
    return buffer_id_at(context_, one.base) == one.buffer_id;
  });
}

void Mapping::require_live_buffers() const {
  for (const Allocation& one : allocations_) {
    if (require_buffer_id_at(context_, one.base) != one.buffer_id)
      throw UsageError(
          "the window's buffer has been freed; close the window and open one on a buffer that "
          "lives");
  }
}

}  // namespace isthmus::window

// Blocks freed in stream order: places marked in streams, and whether they have been reached.
#include <utility>

#include "device/capture.hpp"
#include "transfer/pinned/pinned_registry.hpp"

namespace isthmus::transfer {
namespace {

bool fits(const Block& block, std::size_t size_bytes, std::size_t max_bytes,
          std::size_t alignment_bytes) {
  return block.size_bytes >= size_bytes && block.size_bytes <= max_bytes &&
         reinterpret_cast<std::uintptr_t>(block.data) % alignment_bytes == 0;
}

}  // namespace

void PendingBlocks::add(Block* block) {
  StreamBlocks& stream = streams_[block->stream_id];
  stream.blocks.push_back(block);
  ++stream.num_blocks;
  ++num_blocks_;
}

Block* PendingBlocks::take(std::uint64_t stream_id, std::size_t size_bytes, std::size_t max_bytes,
                           std::size_t alignment_bytes) noexcept {
  const auto found = streams_.find(stream_id);
  if (found == streams_.end()) return nullptr;
  Block* block = found->second.blocks.last();
  // A program that frees blocks of many sizes in one stream must not search them all each time.
  for (int looked_at = 0; block != nullptr && looked_at < 32; ++looked_at) {
    if (fits(*block, size_bytes, max_bytes, alignment_bytes)) {
      remove(found->second, block);
      return block;
    }
    block = block->previous;
  }
  return nullptr;
}

void PendingBlocks::remove(StreamBlocks& stream, Block* block) noexcept {
  stream.blocks.remove(block);
  --stream.num_blocks;
  --num_blocks_;
}

std::uint64_t PinnedRegistry::id_of(CUstream stream) const {
  unsigned long long id = 0;
  context_.driver().call(symbol::stream_get_id)(stream, &id);
  return id;
}

void PinnedRegistry::free_in_stream(void* memory, CUstream stream) {
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(context_.driver());
  Lock lock(mutex_);
  Block* block = claim(memory);
  CUevent spare = nullptr;
  if (!idle_events_.empty()) {
    spare = idle_events_.back();
    idle_events_.pop_back();
  }
  lock.unlock();
  try {
    const Mark marked = mark(stream, spare);
    lock.lock();
    block->stream_id = marked.stream_id;
    block->event = marked.event;
    if (!marked.captured) pending_.add(block);
    if (marked.captured) parked_.push_back(block);
    block->state = marked.captured ? BlockState::parked : BlockState::pending;
    if (marked.captured && spare != nullptr) idle_events_.push_back(spare);
  } catch (...) {
    if (!lock.owns_lock()) lock.lock();
    if (block->event != nullptr) spare = std::exchange(block->event, nullptr);
    if (spare != nullptr) idle_events_.push_back(spare);
    used_.add(block);
    stats_.requested_bytes += block->requested_bytes;
    stats_.used_bytes += block->size_bytes;
    throw;
  }
  stats_.pending_bytes += block->size_bytes;
  if (block->state == BlockState::parked) return;
  pending_.reap_some(
      block->stream_id, [this](CUevent event) { return complete(event); },
      [this](Block* each) { give_pending(each); });
}

PinnedRegistry::Mark PinnedRegistry::mark(CUstream stream, CUevent spare) {
  const Driver& driver = context_.driver();
  // An event recorded there would become part of the graph, and couldn't be queried.
  if (may_be_captured(driver, stream)) return {.captured = true};
  Mark mark{.stream_id = id_of(stream), .event = spare != nullptr ? spare : make_event()};
  const CUresult result = driver.raw(symbol::event_record)(mark.event, stream);
  if (result != CUDA_SUCCESS && spare == nullptr) {
    const Lock lock(mutex_);
    idle_events_.push_back(mark.event);
  }
  driver.check(result, symbol::event_record.name);
  return mark;
}

CUevent PinnedRegistry::make_event() {
  Event event(context_, Event::Timing::disabled);
  const Lock lock(mutex_);
  idle_events_.reserve(events_.size() + 1);  // so that giving one back never fails
  return events_.emplace_back(std::move(event)).handle();
}

bool PinnedRegistry::complete(CUevent event) const noexcept {
  // After a context error nothing is known to be complete.
  return context_.driver().raw(symbol::event_query)(event) == CUDA_SUCCESS;
}

void PinnedRegistry::give_pending(Block* block) noexcept {
  stats_.pending_bytes -= block->size_bytes;
  idle_events_.push_back(std::exchange(block->event, nullptr));
  arena_.give(block);
}

void PinnedRegistry::reap(Lock&) {
  if (pending_.empty()) return;
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(context_.driver());
  pending_.reap([this](CUevent event) { return complete(event); },
                [this](Block* block) { give_pending(block); });
}

/// Frees the blocks from captured streams: the caller says that no graph uses them any more.
void PinnedRegistry::give_parked() noexcept {
  while (Block* block = parked_.first()) {
    parked_.remove(block);
    stats_.pending_bytes -= block->size_bytes;
    arena_.give(block);
  }
}

}  // namespace isthmus::transfer

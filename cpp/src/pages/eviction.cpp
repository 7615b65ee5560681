#include "pages/eviction.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace isthmus::pages {

namespace {

std::string name_of(EvictionKind kind) { return words_of(kind)[static_cast<std::size_t>(kind)]; }

bool takes_blocks(EvictionKind kind) {
  return kind == EvictionKind::tree || kind == EvictionKind::block_64k;
}

/// True for kinds that choose the page with the least value.
bool compares_all(EvictionKind kind) {
  return kind == EvictionKind::random || kind == EvictionKind::lfu || kind == EvictionKind::belady;
}

/// A pseudorandom number. Source: SplitMix64.
std::uint64_t mixed(std::uint64_t number) {
  number *= 0x9E3779B97F4A7C15ULL;
  number = (number ^ (number >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  number = (number ^ (number >> 27U)) * 0x94D049BB133111EBULL;
  return number ^ (number >> 31U);
}

/// True for kinds whose valid ranges can't be split by removing a part.
bool has_ranges(PolicyKind kind) {
  return kind == PolicyKind::whole_page || kind == PolicyKind::single_range ||
         kind == PolicyKind::ranges;
}

std::uint32_t frame_bytes_of(const EvictionPolicy& policy, const MigrationPolicy& migration) {
  if (!takes_blocks(policy.kind)) return migration.page_bytes;
  return policy.block_bytes < migration.page_bytes ? policy.block_bytes : migration.page_bytes;
}

void check(const EvictionPolicy& policy, const MigrationPolicy& migration) {
  const std::string name = name_of(policy.kind);
  if (takes_blocks(policy.kind) && !std::has_single_bit(policy.block_bytes))
    throw UsageError("block_bytes is " + std::to_string(policy.block_bytes) +
                     ": a power of two is needed, such as 65536");
  if (policy.kind == EvictionKind::belady && policy.order == nullptr)
    throw UsageError("belady eviction needs the order of the accesses that are to come");
  const std::uint32_t frame_bytes = frame_bytes_of(policy, migration);
  if (policy.limit_bytes < frame_bytes)
    throw UsageError("limit_bytes is " + std::to_string(policy.limit_bytes) + ", less than the " +
                     std::to_string(frame_bytes) + " bytes that " + name +
                     " eviction moves at once: nothing would fit");
  if (frame_bytes == migration.page_bytes) return;
  if (has_ranges(migration.kind))
    throw UsageError(name + " eviction takes parts of pages, which a policy with valid ranges or " +
                     "whole pages can't record: use lru or clock");
  if (frame_bytes < migration.unit_bytes)
    throw UsageError("block_bytes is less than unit_bytes (" +
                     std::to_string(migration.unit_bytes) + "): raise it to that");
}

}  // namespace

Eviction::Eviction(const EvictionPolicy& policy, PageTable& table, OwnRun* own)
    : policy_(policy),
      table_(table),
      own_(own != nullptr && own->chooses_victims() ? own : nullptr),
      frame_bytes_(frame_bytes_of(policy, table.policy())) {
  check(policy, table.policy());
  if (own_ != nullptr && policy.kind != EvictionKind::lru)
    throw UsageError("the policy chooses its victims itself: leave out the eviction kind " +
                     name_of(policy.kind));
  frames_per_page_ = table.policy().page_bytes / frame_bytes_;
}

// --- the list, oldest first

std::uint32_t Eviction::frame_of(std::uint32_t slot, std::uint32_t offset_bytes) const {
  return slot * frames_per_page_ + offset_bytes / frame_bytes_;
}

void Eviction::append(std::uint32_t frame) {
  frames_[frame].older = newest_;
  frames_[frame].newer = kNoFrame;
  (newest_ == kNoFrame ? oldest_ : frames_[newest_].newer) = frame;
  newest_ = frame;
}

void Eviction::remove(std::uint32_t frame) {
  const Frame& left = frames_[frame];
  (left.older == kNoFrame ? oldest_ : frames_[left.older].newer) = left.newer;
  (left.newer == kNoFrame ? newest_ : frames_[left.newer].older) = left.older;
}

// --- uses

void Eviction::started(std::uint32_t slot, Span transfer) {
  const std::size_t num_frames = std::size_t{table_.num_slots()} * frames_per_page_;
  if (frames_.size() < num_frames) frames_.resize(num_frames);
  const std::uint32_t last = frame_of(slot, transfer.end_bytes() - 1);
  if (last >= num_frames)
    throw UsageError("slot " + std::to_string(slot) + " isn't one of the table's");
  for (std::uint32_t frame = frame_of(slot, transfer.offset_bytes); frame <= last; ++frame) {
    const bool was_present = std::exchange(frames_[frame].present, true);
    frames_[frame].referenced = true;
    if (!was_present) num_frames_ += 1;
    // clock keeps pages in order of arrival.
    if (was_present && policy_.kind == EvictionKind::clock) continue;
    if (was_present) remove(frame);
    append(frame);
  }
}

bool Eviction::wants_accesses() const {
  return policy_.kind == EvictionKind::clock || policy_.recency == Recency::access ||
         policy_.kind == EvictionKind::lfu || policy_.kind == EvictionKind::belady ||
         policy_.record != nullptr;
}

void Eviction::begin_launch() {
  if (policy_.record != nullptr) policy_.record->launches.push_back(position_);
  if (policy_.order == nullptr || num_launches_ >= policy_.order->launches.size()) return;
  position_ = policy_.order->launches[num_launches_++];
}

void Eviction::used(std::uint32_t slot, std::uint32_t offset_bytes) {
  const std::uint32_t frame = frame_of(slot, offset_bytes);
  if (frame >= frames_.size() || !frames_[frame].present) return;
  if (policy_.record != nullptr)
    policy_.record->positions[table_.page_number(slot)].push_back(position_);
  position_ += 1;
  frames_[frame].referenced = true;
  frames_[frame].uses += 1;
  if (policy_.kind != EvictionKind::clock && policy_.recency == Recency::migration) return;
  if (policy_.kind == EvictionKind::clock || frame == newest_) return;
  remove(frame);
  append(frame);
}

void Eviction::left(std::uint32_t slot) {
  const std::uint32_t first = slot * frames_per_page_;
  for (std::uint32_t frame = first; frame < first + frames_per_page_; ++frame) {
    if (frame >= frames_.size() || !frames_[frame].present) continue;
    remove(frame);
    frames_[frame] = {};
    num_frames_ -= 1;
  }
}

// --- victims

std::span<const Victim> Eviction::make_room(std::uint32_t kept_slot, InFlight in_flight) {
  victims_.clear();
  if (own_ != nullptr && !fits()) evict_chosen(kept_slot, in_flight);
  while (own_ == nullptr && !fits()) {
    const std::uint32_t frame = next_victim(kept_slot, in_flight);
    if (frame == kNoFrame) break;
    evict(frame);
  }
  return victims_;
}

bool Eviction::may_leave(std::uint32_t frame, std::uint32_t kept_slot, InFlight in_flight) const {
  const std::uint32_t slot = frame / frames_per_page_;
  if (slot == kept_slot) return false;
  return in_flight == InFlight::leaves || table_.page(slot).under_way == 0;
}

/// What an own policy names.
void Eviction::evict_chosen(std::uint32_t kept_slot, InFlight in_flight) {
  std::vector<std::uint64_t> pages;
  std::vector<std::uint32_t> frames;
  for (std::uint32_t frame = oldest_; frame != kNoFrame; frame = frames_[frame].newer) {
    if (!may_leave(frame, kept_slot, in_flight)) continue;
    pages.push_back(table_.page_number(frame));
    frames.push_back(frame);
  }
  const std::uint64_t over_bytes = framed_bytes() - policy_.limit_bytes;
  const auto needed = static_cast<std::uint32_t>((over_bytes + frame_bytes_ - 1) / frame_bytes_);
  for (const std::uint32_t index : own_->victims(pages, needed)) evict(frames[index]);
}

/// The page with the least leaves.
std::uint64_t Eviction::value_of(std::uint32_t frame) {
  if (policy_.kind == EvictionKind::random) return mixed(++num_draws_);
  if (policy_.kind == EvictionKind::lfu) return frames_[frame].uses;
  const auto page = policy_.order->positions.find(table_.page_number(frame));
  if (page == policy_.order->positions.end()) return 0;
  const auto next = std::ranges::lower_bound(page->second, position_);
  return next == page->second.end() ? 0 : ~std::uint64_t{*next};
}

std::uint32_t Eviction::least(std::uint32_t kept_slot, InFlight in_flight) {
  std::uint32_t found = kNoFrame;
  std::uint64_t least = 0;
  for (std::uint32_t frame = oldest_; frame != kNoFrame; frame = frames_[frame].newer) {
    if (!may_leave(frame, kept_slot, in_flight)) continue;
    const std::uint64_t value = value_of(frame);
    if (found != kNoFrame && value >= least) continue;
    found = frame;
    least = value;
  }
  return found;
}

std::uint32_t Eviction::next_victim(std::uint32_t kept_slot, InFlight in_flight) {
  if (compares_all(policy_.kind)) return least(kept_slot, in_flight);
  std::uint32_t frame = oldest_;
  // clock's hand: a page used since the last turn moves to the end, once; in the second turn
  // nothing is marked.
  for (std::uint64_t turn = 0; frame != kNoFrame && turn < 2 * num_frames_; ++turn) {
    const std::uint32_t next = frames_[frame].newer;
    const bool spared =
        policy_.kind == EvictionKind::clock && std::exchange(frames_[frame].referenced, false);
    if (!spared && may_leave(frame, kept_slot, in_flight)) return frame;
    if (policy_.kind == EvictionKind::clock) {
      remove(frame);
      append(frame);
      frame = oldest_;
    } else {
      frame = next;
    }
  }
  return kNoFrame;
}

void Eviction::evict(std::uint32_t frame) {
  const std::uint32_t slot = frame / frames_per_page_;
  UnitRun leaving{frame % frames_per_page_, frame % frames_per_page_ + 1};
  if (policy_.kind == EvictionKind::tree && frames_per_page_ > 1)
    leaving = with_sparse_subtree(frame);
  for (std::uint32_t index = leaving.first; index < leaving.end; ++index) {
    const std::uint32_t one = slot * frames_per_page_ + index;
    if (!frames_[one].present) continue;
    remove(one);
    frames_[one] = {};
    num_frames_ -= 1;
    const Span part{index * frame_bytes_, frame_bytes_};
    victims_.push_back({slot, part, table_.evict(slot, part)});
  }
}

UnitRun Eviction::with_sparse_subtree(std::uint32_t frame) const {
  const std::uint32_t first = frame - frame % frames_per_page_;
  std::vector<std::uint64_t> words((frames_per_page_ + kWordBits - 1) / kWordBits);
  UnitBitmap present(words.data());
  for (std::uint32_t index = 0; index < frames_per_page_; ++index)
    if (frames_[first + index].present) present.set(index, index + 1);
  const UnitRun leaf{frame - first, frame - first + 1};
  return largest_sparse_subtree(present, frames_per_page_, leaf, policy_.tree_threshold_percent);
}

}  // namespace isthmus::pages

#include "sim/cores/schedule.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::sim {

bool EventQueue::later(const FarEvent& left, const FarEvent& right) {
  return left.event.time_ps != right.event.time_ps ? left.event.time_ps > right.event.time_ps
                                                   : left.sequence > right.sequence;
}

void EventQueue::add_nodes() {
  chunks_.push_back(std::make_unique<Node[]>(kNodesPerChunk));
  Node* const nodes = chunks_.back().get();
  for (std::size_t i = 0; i < kNodesPerChunk; ++i) nodes[i].next = nodes + i + 1;
  nodes[kNodesPerChunk - 1].next = nullptr;
  free_ = nodes;
}

// Inserts after the last event that isn't later. The bucket's last event is later. When all warps
// go on at once, a bucket holds thousands of events of a few cycles: the search begins at one of
// the same time.
void EventQueue::insert_inside(Bucket& bucket, Node* node) {
  const Picoseconds time_ps = node->event.time_ps;
  Node*& inside = inside_[time_ps % kNumInside];
  const bool is_known = inside != nullptr && inside->event.time_ps == time_ps;
  Node** link = is_known ? &inside->next : &bucket.first;
  while ((*link)->event.time_ps <= time_ps) link = &(*link)->next;
  node->next = *link;
  *link = node;
  inside = node;
}

void EventQueue::push_far(const Event& event) {
  far_.push_back({event, num_far_++});
  std::push_heap(far_.begin(), far_.end(), later);
}

// Called with an empty current bucket. The wheel holds the buckets [current_, current_ +
// kNumBuckets), the heap everything after them.
void EventQueue::advance() {
  mark_empty(current_ % kNumBuckets);
  current_ = occupied_words_ != 0 ? next_bucket() : far_.front().event.time_ps >> kBucketShift;
  while (!far_.empty() && (far_.front().event.time_ps >> kBucketShift) - current_ < kNumBuckets) {
    const Event event = far_.front().event;
    std::pop_heap(far_.begin(), far_.end(), later);
    far_.pop_back();
    insert((event.time_ps >> kBucketShift) % kNumBuckets, event);
  }
}

void EventQueue::mark_empty(std::size_t slot) {
  std::uint64_t& word = occupied_[slot / 64];
  word &= ~(1ULL << (slot % 64));
  if (word == 0) occupied_words_ &= ~(1ULL << (slot / 64));
}

std::uint64_t EventQueue::next_bucket() const {
  const std::uint64_t first = (current_ + 1) % kNumBuckets;
  const std::uint64_t in_word = occupied_[first / 64] & (~0ULL << (first % 64));
  std::uint64_t slot = 0;
  if (in_word != 0) {
    slot = first / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(in_word));
  } else {
    // The words after the first one, around the wheel and back to the low bits of the first.
    const int turn = static_cast<int>(first / 64 + 1);
    const std::uint64_t words = std::rotr(occupied_words_, turn);
    const std::uint64_t word =
        (static_cast<std::uint64_t>(turn) + static_cast<std::uint64_t>(std::countr_zero(words))) %
        64;
    slot = word * 64 + static_cast<std::uint64_t>(std::countr_zero(occupied_[word]));
  }
  return current_ + 1 + (slot - first + kNumBuckets) % kNumBuckets;
}

}  // namespace isthmus::sim

#include "sim/event_queue.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::sim {
namespace {

bool later(const Event& left, const Event& right) { return right < left; }

}  // namespace

std::uint32_t EventQueue::add_node(const Event& event) {
  nodes_.push_back({event, kNone});
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

// Behind the last event that isn't later, of which the bucket's last isn't one.
void EventQueue::insert_inside(Bucket& bucket, std::uint32_t node) {
  const Picoseconds time_ps = nodes_[node].event.time_ps;
  std::uint32_t* link = &bucket.first;
  while (nodes_[*link].event.time_ps <= time_ps) link = &nodes_[*link].next;
  nodes_[node].next = *link;
  *link = node;
}

void EventQueue::push_far(const Event& event) {
  far_.push_back(event);
  std::push_heap(far_.begin(), far_.end(), later);
}

// The current bucket is empty. The wheel holds the buckets [current_, current_ + kNumBuckets), the
// heap what comes after them.
void EventQueue::advance() {
  current_ = occupied_words_ != 0 ? next_bucket() : far_.front().time_ps >> kBucketShift;
  while (!far_.empty() && (far_.front().time_ps >> kBucketShift) - current_ < kNumBuckets) {
    const Event event = far_.front();
    std::pop_heap(far_.begin(), far_.end(), later);
    far_.pop_back();
    insert(event.time_ps >> kBucketShift, event);
  }
}

std::uint64_t EventQueue::next_bucket() const {
  const std::uint64_t first = (current_ + 1) % kNumBuckets;
  const std::uint64_t in_word = occupied_[first / 64] & (~0ULL << (first % 64));
  std::uint64_t slot = 0;
  if (in_word != 0) {
    slot = first / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(in_word));
  } else {
    // Words after the first one's, around the wheel and back to the first one's beginning.
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

// Events in the order of (time, sequence): a wheel of buckets for the near future, a heap beyond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/time.hpp"

namespace isthmus::sim {

/// Something to be done at a time. Of two at the same time, the one scheduled first comes first.
struct Event {
  Picoseconds time_ps = 0;
  std::uint64_t order = 0;    ///< sequence number, and below it `kCarriedBits` bits of the caller
  std::uint64_t payload = 0;  ///< the caller's

  friend bool operator<(const Event& left, const Event& right) {
    return left.time_ps != right.time_ps ? left.time_ps < right.time_ps : left.order < right.order;
  }
};

/// A priority queue whose push and pop cost some nanoseconds: most events are due within the
/// wheel's 8.4 us. Nothing is allocated once it has been as full as it gets.
///
/// Each bucket is a list in order. What is pushed has the highest sequence number so far, so it
/// goes behind all of its time; most often that is the list's end. What comes out of the heap does
/// so before anything is pushed to its bucket.
class EventQueue {
public:
  static constexpr unsigned kCarriedBits = 18;

  EventQueue() { buckets_.fill({kNone, kNone}); }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// time_ps     not before the time of the event popped last
  /// carried     < 2^kCarriedBits; comes back in the low bits of `order`
  void push(Picoseconds time_ps, std::uint64_t payload, std::uint32_t carried = 0) {
    const Event event{time_ps, next_sequence_++ << kCarriedBits | carried, payload};
    ++size_;
    const std::uint64_t bucket = time_ps >> kBucketShift;
    if (bucket - current_ < kNumBuckets) {
      insert(bucket, event);
    } else {
      push_far(event);
    }
  }

  /// The queue isn't empty.
  Event pop() {
    if (buckets_[current_ % kNumBuckets].first == kNone) advance();
    const std::size_t slot = current_ % kNumBuckets;
    const std::uint32_t first = buckets_[slot].first;
    Node& node = nodes_[first];
    const Event event = node.event;
    buckets_[slot].first = node.next;
    if (node.next == kNone) mark_empty(slot);
    node.next = free_;
    free_ = first;
    --size_;
    return event;
  }

  /// An event that comes soon, most likely next; null if none is known. For prefetching only.
  const Event* soon() const {
    const std::uint32_t first = buckets_[current_ % kNumBuckets].first;
    return first == kNone ? nullptr : &nodes_[first].event;
  }

private:
  static constexpr unsigned kBucketShift = 11;  // 2.048 ns: some events, on the paper's machine
  static constexpr std::uint64_t kNumBuckets = 4096;
  static constexpr std::uint32_t kNone = ~0U;

  struct Node {
    Event event;
    std::uint32_t next;
  };
  struct Bucket {
    std::uint32_t first;
    std::uint32_t last;  // if there is a first
  };

  void insert(std::uint64_t bucket_index, const Event& event) {
    const std::size_t slot = bucket_index % kNumBuckets;
    const std::uint32_t node = take_node(event);
    Bucket& bucket = buckets_[slot];
    if (bucket.first == kNone) {
      bucket.first = node;
      occupied_[slot / 64] |= 1ULL << (slot % 64);
      occupied_words_ |= 1ULL << (slot / 64);
    } else if (nodes_[bucket.last].event.time_ps <= event.time_ps) {
      nodes_[bucket.last].next = node;
    } else {
      return insert_inside(bucket, node);
    }
    bucket.last = node;
  }

  std::uint32_t take_node(const Event& event) {
    const std::uint32_t node = free_;
    if (node == kNone) return add_node(event);
    free_ = nodes_[node].next;
    nodes_[node] = {event, kNone};
    return node;
  }

  void mark_empty(std::size_t slot) {
    std::uint64_t& word = occupied_[slot / 64];
    word &= ~(1ULL << (slot % 64));
    if (word == 0) occupied_words_ &= ~(1ULL << (slot / 64));
  }

  std::uint32_t add_node(const Event& event);
  void insert_inside(Bucket& bucket, std::uint32_t node);
  void push_far(const Event& event);
  void advance();
  std::uint64_t next_bucket() const;

  std::uint64_t current_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t size_ = 0;

  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::array<Bucket, kNumBuckets> buckets_{};
  std::array<std::uint64_t, kNumBuckets / 64> occupied_{};
  std::uint64_t occupied_words_ = 0;  // bit w: occupied_[w] isn't 0
  std::vector<Event> far_;            // heap, earliest on top

  static_assert(kNumBuckets == 64ULL * 64, "one word tells which words are occupied");
};

}  // namespace isthmus::sim

// Events in the order of (time, sequence): a wheel of buckets for the near future, a heap beyond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/time.hpp"

namespace isthmus::sim {

/// Something that happens at a time. Of two events at the same time, the one scheduled first comes
/// first.
struct Event {
  Picoseconds time_ps = 0;
  std::uint64_t payload = 0;  ///< this and the next: the caller's
  std::uint32_t what = 0;
};

/// A priority queue whose push and pop take some nanoseconds: most events are due within the
/// wheel's 8.4 us. It allocates nothing after its size has reached its maximum.
///
/// Each bucket is a list in order. A pushed event has the highest sequence number so far, so it
/// goes behind all events of its time; usually that is the list's end. Events move from the heap to
/// a bucket before anything is pushed to that bucket.
class EventQueue {
public:
  EventQueue() { buckets_.fill({nullptr, nullptr}); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// event       not before the event popped last
  void push(const Event& event) {
    ++size_;
    const std::uint64_t bucket = event.time_ps >> kBucketShift;
    if (bucket - current_ < kNumBuckets) {
      insert(bucket % kNumBuckets, event);
    } else {
      push_far(event);
    }
  }

  /// The queue must not be empty.
  Event pop() {
    if (buckets_[current_ % kNumBuckets].first == nullptr) advance();
    Bucket& bucket = buckets_[current_ % kNumBuckets];
    Node* const node = bucket.first;
    bucket.first = node->next;
    node->next = free_;
    free_ = node;
    --size_;
    return node->event;
  }

  /// An event that is probably next; null if none is known. Only for prefetching.
  const Event* soon() const {
    const Node* const first = buckets_[current_ % kNumBuckets].first;
    return first == nullptr ? nullptr : &first->event;
  }

private:
  static constexpr unsigned kBucketShift = 11;  // 2.048 ns: a few events, on Zhang 2019's machine
  static constexpr std::uint64_t kNumBuckets = 4096;
  static constexpr std::size_t kNodesPerChunk = 1024;

  struct Node {
    Event event;
    Node* next;
  };
  struct Bucket {
    Node* first;
    Node* last;  // valid if `first` isn't null
  };
  struct FarEvent {
    Event event;
    std::uint64_t sequence;
  };

  void insert(std::size_t slot, const Event& event) {
    if (free_ == nullptr) add_nodes();
    Node* const node = free_;
    free_ = node->next;
    *node = {event, nullptr};
    Bucket& bucket = buckets_[slot];
    if (bucket.first == nullptr) {
      bucket.first = node;
      occupied_[slot / 64] |= 1ULL << (slot % 64);
      occupied_words_ |= 1ULL << (slot / 64);
    } else if (bucket.last->event.time_ps <= event.time_ps) {
      bucket.last->next = node;
    } else {
      return insert_inside(bucket, node);
    }
    bucket.last = node;
  }

  static bool later(const FarEvent& left, const FarEvent& right);
  static void insert_inside(Bucket& bucket, Node* node);
  void add_nodes();
  void push_far(const Event& event);
  void advance();
  void mark_empty(std::size_t slot);
  std::uint64_t next_bucket() const;

  std::uint64_t current_ = 0;
  std::size_t size_ = 0;

  Node* free_ = nullptr;
  std::array<Bucket, kNumBuckets> buckets_{};
  // A set bit: the bucket isn't empty. The current bucket may be empty although its bit is set.
  std::array<std::uint64_t, kNumBuckets / 64> occupied_{};
  std::uint64_t occupied_words_ = 0;  // bit w: occupied_[w] isn't 0
  std::vector<FarEvent> far_;         // heap, earliest on top
  std::uint64_t num_far_ = 0;         // pushed so far
  std::vector<std::unique_ptr<Node[]>> chunks_;

  static_assert(kNumBuckets == 64ULL * 64, "one word tells which words are occupied");
};

}  // namespace isthmus::sim

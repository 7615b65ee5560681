// Events in the order of (time, sequence): a wheel of buckets for the near future, a heap beyond.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/time.hpp"

namespace isthmus::sim {

/// Something to be done at a time. Of two at the same time, the one scheduled first comes first.
struct Event {
  Picoseconds time_ps = 0;
  std::uint64_t payload = 0;  ///< this and the next: the caller's
  std::uint32_t what = 0;
};

/// A priority queue whose push and pop cost some nanoseconds: most events are due within the
/// wheel's 8.4 us. Nothing is allocated once it has been as full as it gets.
///
/// Each bucket is a list in order. What is pushed is the latest so far, so it goes behind all of
/// its time; most often that is the list's end. What comes out of the heap does so before anything
/// is pushed to its bucket.
class EventQueue {
public:
  EventQueue() { buckets_.fill({nullptr, nullptr}); }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// event       not before the one popped last
  void push(const Event& event) {
    ++size_;
    const std::uint64_t bucket = event.time_ps >> kBucketShift;
    if (bucket - current_ < kNumBuckets) {
      insert(bucket % kNumBuckets, event);
    } else {
      push_far(event);
    }
  }

  /// The queue isn't empty.
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

  /// An event that comes soon, most likely next; null if none is known. For prefetching only.
  const Event* soon() const {
    const Node* const first = buckets_[current_ % kNumBuckets].first;
    return first == nullptr ? nullptr : &first->event;
  }

private:
  static constexpr unsigned kBucketShift = 11;  // 2.048 ns: some events, on the paper's machine
  static constexpr std::uint64_t kNumBuckets = 4096;
  static constexpr std::size_t kNodesPerChunk = 1024;

  struct Node {
    Event event;
    Node* next;
  };
  struct Bucket {
    Node* first;
    Node* last;  // if there is a first
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
  // A set bit: the bucket isn't empty. The current one may be all the same.
  std::array<std::uint64_t, kNumBuckets / 64> occupied_{};
  std::uint64_t occupied_words_ = 0;  // bit w: occupied_[w] isn't 0
  std::vector<FarEvent> far_;         // heap, earliest on top
  std::uint64_t num_far_ = 0;         // pushed so far
  std::vector<std::unique_ptr<Node[]>> chunks_;

  static_assert(kNumBuckets == 64ULL * 64, "one word tells which words are occupied");
};

}  // namespace isthmus::sim

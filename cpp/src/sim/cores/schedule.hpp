// Events in the order of (time, sequence): a wheel of buckets for the near future, a heap beyond.
// The meaning of events, and the encoding of a line request in one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/time.hpp"
#include "trace/trace.hpp"

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
    if (Node*& inside = inside_[node->event.time_ps % kNumInside]; inside == node) inside = nullptr;
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
  static constexpr std::size_t kNumInside = 16;

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
  void insert_inside(Bucket& bucket, Node* node);
  void add_nodes();
  void push_far(const Event& event);
  void advance();
  void mark_empty(std::size_t slot);
  std::uint64_t next_bucket() const;

  std::uint64_t current_ = 0;
  std::size_t size_ = 0;

  Node* free_ = nullptr;
  // By time: the event that was the last to be inserted before others; null if it has been popped.
  std::array<Node*, kNumInside> inside_{};
  std::array<Bucket, kNumBuckets> buckets_{};
  // A set bit: the bucket isn't empty. The current bucket may be empty although its bit is set.
  std::array<std::uint64_t, kNumBuckets / 64> occupied_{};
  std::uint64_t occupied_words_ = 0;  // bit w: occupied_[w] isn't 0
  std::vector<FarEvent> far_;         // heap, earliest on top
  std::uint64_t num_far_ = 0;         // pushed so far
  std::vector<std::unique_ptr<Node[]>> chunks_;

  static_assert(kNumBuckets == 64ULL * 64, "one word tells which words are occupied");
};

/// Widths are checked by check_machine: 256 cores, 256 partitions, 4095 misses, 65536 L2 sets.
enum class EventKind : std::uint8_t {
  warp_ready,  ///< index: warp; may issue its next instructions
  execute,     ///< index: warp; its instructions are complete, its memory operation begins
  resume,      ///< index: core; its load/store unit may continue
  translate,   ///< a line request without a translation
  load,        ///< a line request at its partition
  store,       ///< as load
  atomic,      ///< as load
  transfer,    ///< index: migration; its fault is handled, and there is room: it starts on the link
  arrived,     ///< index: migration; all of it has arrived
  faults,      ///< the driver may handle the next batch of faults
  stream,      ///< index: stream; its next work may begin
};

/// A line: its number (see AddressMap), its partition, and its set in the partition's L2.
struct PlacedLine {
  std::uint64_t bits = 0;  // line: 0-31, partition: 32-39, set: 40-55

  static PlacedLine of(std::uint32_t line, std::uint32_t partition, std::uint32_t set) {
    return {line | std::uint64_t{partition} << 32U | std::uint64_t{set} << 40U};
  }
  std::uint32_t line() const { return static_cast<std::uint32_t>(bits); }
  std::uint32_t partition() const { return (bits >> 32U) & 0xFFU; }
  std::uint32_t set() const { return (bits >> 40U) & 0xFFFFU; }
};

/// The step after a translation.
enum class AfterTranslation : std::uint8_t { load, store, atomic, l1_hit };

inline constexpr std::uint32_t kNobody = 0xFFF;
/// The waiter of a store that counts among its core's is the number of its stream; of what L1 writes
/// back, kNobody less that of the stream that displaced it.
inline constexpr std::uint32_t kFirstWriteBack = kNobody + 1 - trace::kMaxStreams;
static_assert(kFirstWriteBack >= trace::kMaxStreams, "stores and what L1 writes back differ");

/// A line request as an event: the payload is its place.
struct LineRequest {
  EventKind kind = EventKind::load;
  std::uint32_t core = 0;
  std::uint32_t waiter = kNobody;  ///< the core's miss entry; for an L1 hit the core's warp
  PlacedLine place;
  std::uint32_t note = 0;  ///< translate: AfterTranslation; at the partition: 1 if the TLB missed

  std::uint32_t what() const {
    return static_cast<std::uint32_t>(kind) << 28U | core << 20U | waiter << 8U | note;
  }
  static LineRequest of(const Event& event) {
    return {static_cast<EventKind>(event.what >> 28U),
            event.what >> 20U & 0xFFU,
            event.what >> 8U & 0xFFFU,
            {event.payload},
            event.what & 0xFFU};
  }
};

/// The event queue, with these events.
class Schedule {
public:
  void at(Picoseconds time_ps, EventKind kind, std::uint32_t index) {
    queue_.push({time_ps, index, static_cast<std::uint32_t>(kind) << 28U});
  }
  void at(Picoseconds time_ps, const LineRequest& request) {
    queue_.push({time_ps, request.place.bits, request.what()});
  }

  /// The next event; its time becomes the present.
  Event next() {
    const Event event = queue_.pop();
    now_ps_ = event.time_ps;
    ++num_events_;
    // A line's set follows from its number, so it isn't included.
    const std::uint64_t number =
        std::uint64_t{event.what >> 8U} << 40U | (event.payload & 0xFF'FFFF'FFFFU);
    digest_ = (digest_ ^ (event.time_ps + number)) * 0x9E3779B97F4A7C15ULL;
    digest_ ^= digest_ >> 32U;
    return event;
  }

  static EventKind kind(const Event& event) { return static_cast<EventKind>(event.what >> 28U); }
  static std::uint32_t index(const Event& event) {
    return static_cast<std::uint32_t>(event.payload);
  }

  const Event* soon() const { return queue_.soon(); }
  bool empty() const { return queue_.empty(); }
  Picoseconds now_ps() const { return now_ps_; }
  std::uint64_t num_events() const { return num_events_; }
  std::uint64_t digest() const { return digest_; }

private:
  EventQueue queue_;
  Picoseconds now_ps_ = 0;
  std::uint64_t num_events_ = 0;
  std::uint64_t digest_ = 0;
};

}  // namespace isthmus::sim

#include "preload/counting.hpp"

#include <string.h>

#include "preload/texts.hpp"

namespace isthmus::preload {
namespace {

/// Rows of a thread are written by it alone, unless threads share their row.
void add(u64& number, u64 more, bool is_own) {
  if (is_own) {
    __atomic_store_n(&number, __atomic_load_n(&number, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
  } else {
    __atomic_fetch_add(&number, more, __ATOMIC_RELAXED);
  }
}

u64 mixed(u64 value) {  // the finaliser of MurmurHash3
  value = (value ^ value >> 33U) * 0xff51afd7ed558ccdu;
  value = (value ^ value >> 33U) * 0xc4ceb9fe1a85ec53u;
  return value ^ value >> 33U;
}

u8 size_class_of(u64 bytes) {
  return bytes == 0 ? u8{0} : static_cast<u8>(64 - __builtin_clzll(bytes));
}

struct Key {
  u16 entry;
  u16 thread;
  u32 site;
  u8 source;
  u8 target;
  u8 size_class;
  u64 stream;
};

bool is_of(const CallRow& row, const Key& key) {
  return row.entry == key.entry && row.thread == key.thread && row.site == key.site &&
         row.source == key.source && row.target == key.target && row.size_class == key.size_class &&
         row.stream == key.stream;
}

enum State : u32 { kFree, kClaimed, kInUse };

CallRow* claim(CallRow& row, const Key& key) {
  u32 expected = kFree;
  if (!__atomic_compare_exchange_n(&row.state, &expected, kClaimed, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return nullptr;
  row.entry = key.entry, row.thread = key.thread, row.site = key.site;
  row.source = key.source, row.target = key.target, row.size_class = key.size_class;
  row.stream = key.stream;
  __atomic_store_n(&row.state, kInUse, __ATOMIC_RELEASE);
  return &row;
}

/// Null: all that might hold it are taken.
CallRow* row_of(Thread& thread, const Key& key) {
  CallRow* const last = thread.last_row;
  if (last != nullptr && last->state == kInUse && is_of(*last, key)) return last;
  constexpr u32 capacity = Layout::rows_capacity;
  constexpr u32 most_steps = 256;
  const u64 hash =
      mixed(key.stream ^ mixed(u64{key.entry} << 48U | u64{key.thread} << 32U | key.site) ^
            (u64{key.source} << 16U | u64{key.target} << 8U | key.size_class));
  for (u32 step = 0; step < most_steps; ++step) {
    CallRow& row = tables.rows[(hash + step) % capacity];
    u32 state = __atomic_load_n(&row.state, __ATOMIC_ACQUIRE);
    if (state == kFree) {
      if (CallRow* const claimed = claim(row, key)) return thread.last_row = claimed;
      state = __atomic_load_n(&row.state, __ATOMIC_ACQUIRE);
    }
    // One that is being claimed is passed by: a signal handler may have interrupted its owner. Two
    // rows of one key do no harm: reports add them up.
    if (state == kInUse && is_of(row, key)) return thread.last_row = &row;
  }
  return nullptr;
}

/// Without a site, stream and size a call nearly always finds a row.
CallRow* row_or_coarser(Thread& thread, Key& key) {
  if (CallRow* const row = row_of(thread, key)) return row;
  __atomic_fetch_add(&header->rows_lost, 1, __ATOMIC_RELAXED);
  key.site = 0, key.stream = 0;
  return row_of(thread, key);
}

void add_event(const Key& key, const What& what, const Taken& taken) {
  const u64 number = __atomic_fetch_add(&header->events_used, 1, __ATOMIC_RELAXED);
  if (number >= header->events_capacity) return;
  Event& event = tables.events[number];
  event.begin_ns = taken.begin_ns - header->begin_ns;
  event.ns = taken.ns, event.wait_ns = taken.wait_ns, event.bytes = what.bytes;
  event.stream = key.stream, event.site = taken.site;
  event.entry = key.entry, event.thread = key.thread;
  event.source = key.source, event.target = key.target;
  event.hidden = taken.hidden, event.replaced = taken.replaced;
  __atomic_store_n(&event.ready, 1, __ATOMIC_RELEASE);
}

}  // namespace

void count_launch() {
  if (Thread* const thread = this_thread()) add(thread->row->launches, 1, thread->is_own);
}

void count_call(Thread& thread, const Entry& entry, const What& what, const Taken& taken) {
  Key key{static_cast<u16>(&entry - entries),
          thread.number,
          taken.site,
          what.source,
          what.target,
          size_class_of(what.items == 0 ? what.bytes : what.bytes / what.items),
          reinterpret_cast<u64>(what.stream)};
  if (header->events_capacity != 0) add_event(key, what, taken);
  CallRow* const row = row_or_coarser(thread, key);
  if (row == nullptr) return;
  const bool is_own = thread.is_own;
  add(row->calls, 1, is_own);
  add(row->items, what.items, is_own);
  add(row->bytes, what.bytes, is_own);
  add(row->ns, taken.ns, is_own);
  if (taken.ns > row->max_ns) row->max_ns = taken.ns;
  if (taken.wait_ns != 0) add(row->wait_ns, taken.wait_ns, is_own);
  if (taken.captured) add(row->captured, 1, is_own);
  if (taken.failed) add(row->failed, 1, is_own);
  if (taken.hidden) {
    add(row->hidden, 1, is_own);
    add(row->hidden_ns, taken.ns, is_own);
  }
  if (taken.replaced) {
    add(row->replaced, 1, is_own);
    add(row->replaced_bytes, what.bytes, is_own);
    add(row->replaced_ns, taken.ns - taken.wait_ns, is_own);
  }
}

void count_repeat(const What& what, u64 ns, u32 site) {
  constexpr u64 num_words = 16;
  constexpr u32 most_steps = 16;
  const auto* const bytes = static_cast<const unsigned char*>(what.from);
  u64 key = mixed(reinterpret_cast<u64>(what.from)) ^ what.bytes;
  for (u64 i = 0; i < num_words; ++i) {
    u64 word = 0;
    memcpy(&word, bytes + (what.bytes - sizeof word) / (num_words - 1) * i, sizeof word);
    key = mixed(key ^ word);
  }
  key |= 1U;
  for (u32 step = 0; step < most_steps; ++step) {
    RepeatRow& row = tables.repeats[(key + step) % Layout::repeats_capacity];
    u64 expected = 0;
    const bool is_new = __atomic_compare_exchange_n(&row.key, &expected, key, false,
                                                    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!is_new && expected != key) continue;
    if (is_new) row.first_ns = ns, row.site = site;
    add(row.calls, 1, false);
    add(row.bytes, what.bytes, false);
    add(row.ns, ns, false);
    return;
  }
}

SitePlace site_place(u64 key) {
  constexpr u32 most_steps = 32;
  key |= 1U;
  for (u32 step = 0; step < most_steps; ++step) {
    const u32 number = static_cast<u32>((key + step) % Layout::sites_capacity);
    SiteRow& row = tables.sites[number];
    u64 expected = __atomic_load_n(&row.key, __ATOMIC_ACQUIRE);
    if (expected == key) return {&row, number + 1, false};
    if (expected != 0) continue;
    if (__atomic_compare_exchange_n(&row.key, &expected, key, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return {&row, number + 1, true};
    if (expected == key) return {&row, number + 1, false};
  }
  __atomic_fetch_add(&header->sites_lost, 1, __ATOMIC_RELAXED);
  return {nullptr, 0, false};
}

namespace {

/// Whoever finds another thread, or an interrupted one, writing a text leaves it at that.
template <typename Work>
void alone(Work write) {
  static bool is_writing = false;
  if (__atomic_test_and_set(&is_writing, __ATOMIC_ACQUIRE)) return;
  write();
  __atomic_clear(&is_writing, __ATOMIC_RELEASE);
}

}  // namespace

void note_unwatched(const char* name, int version) {
  if (header == nullptr || strncmp(name, "cuMemcpy", strlen("cuMemcpy")) != 0) return;
  char text[64];
  copy_text(text, name);
  if (version != 0) {
    append_text(text, "@");
    append_number(text, static_cast<unsigned long>(version));
  }
  alone([&] {
    for (size_t at = 0; at < sizeof header->unwatched; at += sizeof text) {
      char* const known = header->unwatched + at;
      if (*known == '\0') memcpy(known, text, sizeof text);
      if (strcmp(known, text) == 0) return;
    }
  });
}

void note_engine(const char* reason, bool is_failure) {
  if (header == nullptr) return;
  if (is_failure) __atomic_fetch_add(&header->exec_failed, 1, __ATOMIC_RELAXED);
  alone([&] { copy_text(header->exec_reason, reason); });
}

}  // namespace isthmus::preload

// What a watched process counts, in a file that is mapped shared: it outlives os._exit() and kill -9.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace isthmus::preload {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using text = char;

constexpr u32 kCountersVersion = 3;
constexpr char kCountersMagic[] = "ISTHWTCH";

/// Asynchronous uploads of pageable memory up to here needn't wait for their stream: the driver reads
/// them into memory of its own, some MiB for all streams, and waits only if that is full. Measured on
/// an H200 with driver 580.159.04: while its stream is held, one of 2 MiB returns, one of a byte more
/// waits, and so do blocking ones of any size.
constexpr u64 kMostStaged = u64{2} << 20U;
/// Pageable downloads and blocking uploads wait at every size. Up to here they do so in the driver's
/// own call: one more for the wait would take a good part of their time.
constexpr u64 kMostSmall = u64{64} << 10U;
/// Uploads from here on are compared with those before them.
constexpr u64 kMinRepeated = u64{256} << 10U;

/// What lies at an end of a copy.
enum Kind : u8 { kNone, kPageable, kPinned, kDevice, kManaged, kArray };
constexpr const char* kKindNames[] = {"", "pageable", "pinned", "device", "managed", "array"};
/// What an entry point does; reports read the number.
enum EntryClass : u32 { kCopy, kAlloc, kFree, kPin, kUnpin, kWait, kLaunch, kResolve, kControl };
constexpr const char* kClassNames[] = {"copy", "alloc",  "free",    "pin",    "unpin",
                                       "wait", "launch", "resolve", "control"};

// clang-format off
#define ISTHMUS_RECORD(name) struct name {
#define ISTHMUS_MEMBER(type, member) type member;
#define ISTHMUS_ARRAY(type, member, number) type member[number];
#define ISTHMUS_END };
#define ISTHMUS_TABLE(member, record, capacity)
#include "preload/counters.inc"
// clang-format on

constexpr size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

/// Where the tables lie in the file; the events follow the last one.
struct Layout {
  size_t total = aligned(sizeof(Header));
#define ISTHMUS_RECORD(name)
#define ISTHMUS_MEMBER(type, member)
#define ISTHMUS_ARRAY(type, member, number)
#define ISTHMUS_END
#define ISTHMUS_TABLE(member, record, capacity)      \
  static constexpr u32 member##_capacity = capacity; \
  size_t member = total;                             \
  size_t after_##member = total += aligned(sizeof(record) * (capacity));
#include "preload/counters.inc"
  size_t events = total;
};

}  // namespace isthmus::preload

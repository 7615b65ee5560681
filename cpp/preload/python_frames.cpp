// This thread's own Python frames, read as they lie in memory: they don't change while the thread is inside the driver, so no
// lock is needed. Nothing waits for the interpreter's lock, whose owner may be waiting for what this thread holds.
#include <dlfcn.h>
#include <string.h>

#include "preload/binding.hpp"
#include "preload/sites.hpp"
#include "preload/texts.hpp"

namespace isthmus::preload {
namespace {

using Address = const unsigned char*;

/// Where members lie. Source: pycore_frame.h, pycore_pystate.h, cpython/code.h and
/// cpython/unicodeobject.h of each version; they don't change between its releases.
/// tests/cli/watch compares them with the interpreters of the machine.
struct PythonLayout {
  unsigned minor;
  u16 thread_frame;     ///< in PyThreadState: of the frame, or of what holds it
  int16_t frame_in_holder;  ///< -1: the thread state has the frame itself
  u16 code;             ///< in _PyInterpreterFrame
  u16 previous;
  u16 instruction;
  u16 owner;
  u8 owner_of_shims;  ///< frames of C that are no code's; 255: there are none
  u16 code_line;      ///< in PyCodeObject
  u16 code_bytes;
  u16 ascii_text;  ///< in a str of ASCII
  u16 other_text;
};
constexpr PythonLayout kLayouts[] = {
    {11, 56, 8, 32, 48, 56, 69, 255, 72, 184, 48, 72},
    {12, 56, 0, 0, 8, 56, 70, 3, 68, 192, 40, 56},
    {13, 72, -1, 0, 8, 56, 70, 3, 68, 200, 40, 56},
};
// The same in all three.
constexpr u16 kCodeFile = 112;
constexpr u16 kCodeName = 128;
constexpr u16 kCodeLines = 136;
constexpr u16 kBytesText = 32;
constexpr u16 kLength = 16;
constexpr u16 kStringState = 32;

template <typename T>
T at(Address base, size_t offset) {
  T value;
  memcpy(&value, base + offset, sizeof value);
  return value;
}
Address object_at(Address base, size_t offset) { return at<Address>(base, offset); }

const PythonLayout* layout = nullptr;
Address (*this_thread_state)() = nullptr;
int (*is_initialized)() = nullptr;

/// Python may be loaded later: looked for again with each site, some times.
bool find_python() {
  if (layout != nullptr) return true;
  constexpr int kMostTries = 64;
  static int tries = 0;
  if (__atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) >= kMostTries) return false;
  const Dlsym find = real_dlsym();
  const auto* const version =
      static_cast<const unsigned long*>(find(RTLD_DEFAULT, "Py_Version"));
  const auto describe =
      reinterpret_cast<const char* (*)()>(find(RTLD_DEFAULT, "Py_GetVersion"));
  if (version == nullptr || describe == nullptr || *version >> 24 != 3) return false;
  if (strstr(describe(), "free-threading") != nullptr) return false;
  this_thread_state =
      reinterpret_cast<Address (*)()>(find(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  is_initialized = reinterpret_cast<int (*)()>(find(RTLD_DEFAULT, "Py_IsInitialized"));
  if (this_thread_state == nullptr || is_initialized == nullptr) return false;
  for (const PythonLayout& known : kLayouts)
    if (known.minor == (*version >> 16 & 0xff)) __atomic_store_n(&layout, &known, __ATOMIC_RELEASE);
  return layout != nullptr;
}

void append_utf8(char*& next, const char* end, u32 point) {
  const auto put = [&](u32 byte) {
    if (next < end) *next++ = static_cast<char>(byte);
  };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3f));
  } else {
    put(0xf0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3f));
    put(0x80 | (point >> 6 & 0x3f));
  }
  put(0x80 | (point & 0x3f));
}

/// The last characters of a str that fit.
template <size_t kSize>
void read_string(Address string, char (&target)[kSize]) {
  const u64 length = at<u64>(string, kLength);
  const u32 state = at<u32>(string, kStringState);
  const bool is_ascii = (state & 0x40) != 0;
  const u32 width = state >> 2 & 7;
  const Address characters = string + (is_ascii ? layout->ascii_text : layout->other_text);
  const u64 first = length > kSize - 1 ? length - (kSize - 1) : 0;
  char* next = target;
  for (u64 i = first; i < length; ++i) {
    const u32 point = width == 1   ? at<u8>(characters, i)
                      : width == 2 ? at<u16>(characters, 2 * i)
                                   : at<u32>(characters, 4 * i);
    append_utf8(next, target + kSize - 1, point);
  }
  *next = '\0';
}

struct Frame {
  Address code;
  Address instruction;
};

bool is_in_library(Address file) {
  constexpr const char* kParts[] = {"-packages/", "/lib/python3", "<frozen"};
  char text[512];
  read_string(file, text);
  bool is_library = false;
  for (const char* part : kParts) is_library = is_library || strstr(text, part) != nullptr;
  return is_library;
}

bool is_a_librarys(Address code, Thread& thread) {
  const Address file = object_at(code, kCodeFile);
  if (!thread.is_own) return is_in_library(file);
  KnownCode& known = thread.codes[(reinterpret_cast<uintptr_t>(code) >> 5) %
                                  (sizeof thread.codes / sizeof known)];
  if (known.code != code || known.file != file) known = {code, file, is_in_library(file)};
  return known.is_library;
}

/// A number of 6 bits a byte. Source: Objects/locations.md of CPython.
u32 read_varint(Address& next, Address end) {
  u32 value = 0;
  for (unsigned shift = 0; next < end && shift < 32; shift += 6) {
    const u8 byte = *next++;
    value |= u32{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}
int read_signed(Address& next, Address end) {
  const u32 value = read_varint(next, end);
  const int size = static_cast<int>(value >> 1);
  return (value & 1) != 0 ? -size : size;
}

unsigned line_of(const Frame& frame) {
  const Address table = object_at(frame.code, kCodeLines);
  Address next = table + kBytesText;
  const Address end = next + at<u64>(table, kLength);
  const long wanted = (frame.instruction - (frame.code + layout->code_bytes)) / 2;
  int line = at<int>(frame.code, layout->code_line);
  for (long unit = 0; next < end;) {
    const u8 first = *next++;
    const unsigned form = first >> 3 & 15;
    unit += (first & 7) + 1;
    if (form == 13 || form == 14) line += read_signed(next, end);
    if (form == 14)
      for (int i = 0; i < 3; ++i) read_varint(next, end);
    if (form >= 10 && form <= 12) line += static_cast<int>(form) - 10, next += 2;
    if (form < 10) ++next;
    if (unit > wanted) return static_cast<unsigned>(line);
  }
  return static_cast<unsigned>(line);
}

bool find_frame(Thread& own, Frame& found) {
  constexpr int kMostFrames = 64;
  const Address thread = this_thread_state();
  if (thread == nullptr) return false;
  Address frame = object_at(thread, layout->thread_frame);
  if (layout->frame_in_holder >= 0 && frame != nullptr)
    frame = object_at(frame, static_cast<size_t>(layout->frame_in_holder));
  found = {};
  for (int i = 0; i < kMostFrames && frame != nullptr;
       ++i, frame = object_at(frame, layout->previous)) {
    if (at<u8>(frame, layout->owner) == layout->owner_of_shims) continue;
    const Frame one{object_at(frame, layout->code), object_at(frame, layout->instruction)};
    if (one.code == nullptr) continue;
    if (found.code == nullptr) found = one;
    if (is_a_librarys(one.code, own)) continue;
    found = one;
    break;
  }
  return found.code != nullptr;
}

}  // namespace

u32 python_site(Thread& thread) {
  if (!find_python() || is_initialized() == 0) return 0;
  Frame frame;
  if (!find_frame(thread, frame)) return 0;
  const u64 key = (reinterpret_cast<u64>(frame.instruction) * 0x9e3779b97f4a7c15u) ^
                  reinterpret_cast<u64>(object_at(frame.code, kCodeFile)) ^
                  u64{at<u32>(frame.code, layout->code_line)} << 40;
  const SitePlace place = site_place(key);
  if (!place.is_new) return place.number;
  char text[160];
  read_string(object_at(frame.code, kCodeFile), text);
  copy_text(place.row->place, text);
  append_text(place.row->place, ":");
  append_number(place.row->place, line_of(frame));
  append_text(place.row->place, " ");
  read_string(object_at(frame.code, kCodeName), text);
  append_text(place.row->place, text);
  place.row->is_python = 1;
  __atomic_store_n(&place.row->ready, 1, __ATOMIC_RELEASE);
  return place.number;
}

}  // namespace isthmus::preload

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
/// tests/unit/preload compares them with the interpreters of the machine.
struct PythonLayout {
  unsigned minor;
  u16 thread_frame;         ///< in PyThreadState: of the frame, or of what holds it
  int16_t frame_in_holder;  ///< -1: the thread state has the frame itself
  u16 code;                 ///< in _PyInterpreterFrame
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
  memcpy(static_cast<void*>(&value), base + offset, sizeof value);
  return value;
}
Address object_at(Address base, size_t offset) { return at<Address>(base, offset); }

const PythonLayout* layout = nullptr;
Address (*this_thread_state)() = nullptr;
int (*is_initialized)() = nullptr;

/// Python may be loaded later: looked for again with each site, some times.
bool find_python() {
  if (layout != nullptr) return true;
  constexpr int most_tries = 64;
  static int tries = 0;
  if (__atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) >= most_tries) return false;
  const Dlsym find = real_dlsym();
  const auto* const version = static_cast<const unsigned long*>(find(RTLD_DEFAULT, "Py_Version"));
  const auto describe = reinterpret_cast<const char* (*)()>(find(RTLD_DEFAULT, "Py_GetVersion"));
  if (version == nullptr || describe == nullptr || *version >> 24U != 3) {
    dlerror();  // the program must not take it for its own
    return false;
  }
  if (strstr(describe(), "free-threading") != nullptr) return false;
  this_thread_state =
      reinterpret_cast<Address (*)()>(find(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  is_initialized = reinterpret_cast<int (*)()>(find(RTLD_DEFAULT, "Py_IsInitialized"));
  if (this_thread_state == nullptr || is_initialized == nullptr) return false;
  for (const PythonLayout& known : kLayouts)
    if (known.minor == (*version >> 16U & 0xffU))
      __atomic_store_n(&layout, &known, __ATOMIC_RELEASE);
  return layout != nullptr;
}

size_t utf8_bytes(u32 point) {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}
void append_utf8(char*& next, u32 point) {
  const size_t bytes = utf8_bytes(point);
  constexpr u32 first_bits[] = {0, 0xc0, 0xe0, 0xf0};
  for (size_t i = 0; i < bytes; ++i) {
    const u32 bits = point >> 6U * static_cast<u32>(bytes - 1 - i);
    *next++ = static_cast<char>(i == 0 ? first_bits[bytes - 1] | bits : 0x80U | (bits & 0x3fU));
  }
}

/// The last characters of a str that fit.
template <size_t Size>
void read_string(Address string, char (&target)[Size]) {
  const u64 length = at<u64>(string, kLength);
  const u32 state = at<u32>(string, kStringState);
  const bool is_ascii = (state & 0x40U) != 0;
  const u32 width = state >> 2U & 7U;
  const Address characters = string + (is_ascii ? layout->ascii_text : layout->other_text);
  const auto point_at = [&](u64 i) -> u32 {
    if (width == 1) return at<u8>(characters, i);
    return width == 2 ? at<u16>(characters, 2 * i) : at<u32>(characters, 4 * i);
  };
  u64 first = length;
  for (size_t room = Size - 1; first > 0; --first) {
    const size_t bytes = utf8_bytes(point_at(first - 1));
    if (bytes > room) break;
    room -= bytes;
  }
  char* next = target;
  for (u64 i = first; i < length; ++i) append_utf8(next, point_at(i));
  *next = '\0';
}

struct Frame {
  Address code;
  Address instruction;
};

bool is_in_library(Address file) {
  constexpr const char* parts[] = {"-packages/", "/lib/python3", "<frozen"};
  char text[512];
  read_string(file, text);
  for (const char* part : parts)
    if (strstr(text, part) != nullptr) return true;
  return false;
}

bool is_a_librarys(Address code, Thread& thread) {
  const Address file = object_at(code, kCodeFile);
  if (!thread.is_own) return is_in_library(file);
  KnownCode& known =
      thread
          .codes[(reinterpret_cast<uintptr_t>(code) >> 5U) % (sizeof thread.codes / sizeof known)];
  if (known.code != code || known.file != file) known = {code, file, is_in_library(file)};
  return known.is_library;
}

/// A number of 6 bits a byte. Source: Objects/locations.md of CPython.
u32 read_varint(Address& next, Address end) {
  u32 value = 0;
  for (unsigned shift = 0; next < end && shift < 32; shift += 6) {
    const u32 byte = *next++;
    value |= (byte & 0x3fU) << shift;
    if ((byte & 0x40U) == 0) break;
  }
  return value;
}
int read_signed(Address& next, Address end) {
  const u32 value = read_varint(next, end);
  const int size = static_cast<int>(value >> 1U);
  return (value & 1U) != 0 ? -size : size;
}

unsigned line_of(const Frame& frame) {
  const Address table = object_at(frame.code, kCodeLines);
  Address next = table + kBytesText;
  const Address end = next + at<u64>(table, kLength);
  const long wanted = (frame.instruction - (frame.code + layout->code_bytes)) / 2;
  int line = at<int>(frame.code, layout->code_line);
  for (long unit = 0; next < end;) {
    const u32 first = *next++;
    const u32 form = first >> 3U & 15U;
    unit += static_cast<long>(first & 7U) + 1;
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
  constexpr int most_frames = 64;
  const Address thread = this_thread_state();
  if (thread == nullptr) return false;
  Address frame = object_at(thread, layout->thread_frame);
  if (layout->frame_in_holder >= 0 && frame != nullptr)
    frame = object_at(frame, static_cast<size_t>(layout->frame_in_holder));
  found = {};
  for (int i = 0; i < most_frames && frame != nullptr;
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
  const u64 key = (reinterpret_cast<u64>(frame.instruction) * 0x9e3779b97f4a7c15U) ^
                  reinterpret_cast<u64>(object_at(frame.code, kCodeFile)) ^
                  u64 { at<u32>(frame.code, layout->code_line) } << 40U;
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

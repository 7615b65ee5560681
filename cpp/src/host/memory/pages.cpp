#include "host/memory/pages.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "host/memory/memory_map.hpp"
#include "host/system/text_file.hpp"

// Since Linux 5.14; the C library's headers may be older than the kernel.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace isthmus::host {

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Pages::Pages(const void* memory, std::size_t size_bytes) noexcept
    : first(reinterpret_cast<std::uintptr_t>(memory) / page_bytes() * page_bytes()),
      end((reinterpret_cast<std::uintptr_t>(memory) + size_bytes + page_bytes() - 1) /
          page_bytes() * page_bytes()) {}

int populate(const Pages& pages, Access access) noexcept {
  const int advice = access == Access::read ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
  const int before = errno;
  const int error = madvise(pages.data(), pages.size_bytes(), advice) == 0 ? 0 : errno;
  errno = before;
  return error;
}

bool is_resident(const void* byte) noexcept {
  unsigned char residency = 0;
  if (mincore(Pages(byte, 1).data(), 1, &residency) != 0) return true;
  return (residency & 1U) != 0;
}

bool all_resident(const Pages& pages) noexcept {
  std::array<unsigned char, 512> residency{};
  const std::size_t most_bytes = residency.size() * page_bytes();
  for (std::uintptr_t first = pages.first; first < pages.end; first += most_bytes) {
    const std::size_t size_bytes = std::min(pages.end - first, most_bytes);
    if (mincore(reinterpret_cast<void*>(first), size_bytes, residency.data()) != 0) return true;
    const auto end = residency.begin() + static_cast<std::ptrdiff_t>(size_bytes / page_bytes());
    const auto present = [](unsigned char page) { return (page & 1U) != 0; };
    if (!std::all_of(residency.begin(), end, present)) return false;
  }
  return true;
}

}  // namespace isthmus::host

namespace isthmus::host {
namespace {

// One query about four pages takes 1.25 us, two queries about one page each take 1.35 (AMD EPYC, a
// virtual machine).
constexpr std::size_t kMaxPagesAsked = 4;

/// Uses the list of this process's mappings: slow, for memory that populate() can't judge.
bool mapped_for(const Pages& pages, Access access) noexcept try {
  const std::string maps = read_text("/proc/self/maps").value_or("");
  std::uintptr_t covered_until = pages.first;
  for (std::string_view rest = maps; !rest.empty() && covered_until < pages.end;) {
    const auto mapping = take_mapping(rest);
    if (!mapping || covered_until < mapping->begin || covered_until >= mapping->end) continue;
    if (!(access == Access::read ? mapping->readable : mapping->writable)) return false;
    covered_until = mapping->end;
  }
  return covered_until >= pages.end || maps.empty();
} catch (const std::exception&) {
  return true;  // no memory for the list: that must not make a copy fail
}

bool can_touch_all(const Pages& pages, Access access) noexcept {
  const int error = populate(pages, access);
  // The kernel is older, or the memory is forbidden or a device's.
  if (error == EINVAL) return mapped_for(pages, access);
  return error != EFAULT && error != ENOMEM && error != EHWPOISON;
}

}  // namespace

bool can_touch(const void* begin, std::size_t size_bytes, Access access) noexcept {
  const Pages pages(begin, size_bytes);
  if (pages.end <= pages.first) return false;  // it ends beyond the last address
  if (pages.count() <= kMaxPagesAsked) return can_touch_all(pages, access);
  const auto* const last = static_cast<const std::byte*>(begin) + size_bytes - 1;
  return can_touch_all(Pages(begin, 1), access) && can_touch_all(Pages(last, 1), access);
}

bool is_mapped(const void* begin, std::size_t size_bytes) noexcept {
  const Pages pages(begin, size_bytes);
  if (pages.end <= pages.first) return false;  // it ends beyond the last address
  const int before = errno;
  // Writes nothing, and fails at a gap. Source: mm/msync.c of Linux: since 2.6.19.
  const bool mapped = msync(pages.data(), pages.size_bytes(), MS_ASYNC) == 0 || errno != ENOMEM;
  errno = before;
  return mapped;
}

namespace {

// Source: proc_pid_stat(5): start_brk is field 47; field 3 follows the name in parentheses, which
// may contain anything, and a space.
constexpr std::size_t kFieldsBetween = 47 - 3 + 1;

struct Stack {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// The calling thread's stack; empty if the system doesn't tell.
Stack own_stack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* begin = nullptr;
  std::size_t size_bytes = 0;
  const bool known = pthread_attr_getstack(&attributes, &begin, &size_bytes) == 0;
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return {first, first + size_bytes};
}

std::uintptr_t heap_end() noexcept { return reinterpret_cast<std::uintptr_t>(sbrk(0)); }

/// The field start_brk of /proc/self/stat; 0 if unknown.
std::uintptr_t told_heap_begin() try {
  const std::string text = read_text("/proc/self/stat").value_or("");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  const auto fields = split(std::string_view(text).substr(name_end + 1), ' ');
  if (fields.size() <= kFieldsBetween) return 0;
  const std::string_view field = fields[kFieldsBetween];
  std::uintptr_t begin = 0;
  std::from_chars(field.data(), field.data() + field.size(), begin);
  return begin;
} catch (const std::exception&) {
  return 0;
}

/// The first page that certainly belongs to the heap. If that is unknown, uses the present end of
/// the heap.
std::uintptr_t heap_begin() noexcept {
  static const std::uintptr_t begin = [] {
    const std::uintptr_t told = told_heap_begin();
    const std::uintptr_t known = told == 0 || told > heap_end() ? heap_end() : told;
    return (known + page_bytes() - 1) / page_bytes() * page_bytes();
  }();
  return begin;
}

thread_local const Stack kStack = own_stack();

}  // namespace

bool is_own_memory(const void* begin, std::size_t size_bytes) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto lies_in = [=](std::uintptr_t start, std::uintptr_t end) {
    return first >= start && first < end && size_bytes <= end - first;
  };
  // Below `here` the stack isn't in use. Code on a fiber's stack doesn't run on this stack.
  if (here >= kStack.begin && lies_in(here, kStack.end)) return true;
  return lies_in(heap_begin(), heap_end());
}

}  // namespace isthmus::host

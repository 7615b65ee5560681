#include "host/memory/own_memory.hpp"

#include <charconv>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <pthread.h>
#include <unistd.h>

#include "host/memory/pages.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
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

#include "host/own_memory.hpp"

#include <cstdint>

#include <pthread.h>
#include <unistd.h>

namespace isthmus::host {
namespace {

struct Stack {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// The calling thread's own stack; empty if the system doesn't tell.
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

/// Where the heap begins isn't told; where it was when this library was loaded is inside it.
std::uintptr_t heap_begin() noexcept {
  static const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  return begin;
}

const std::uintptr_t kHeapAtLoad = heap_begin();
thread_local const Stack kStack = own_stack();

}  // namespace

bool is_own_memory(const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  // Below `here` the stack isn't in use; and code that runs on a fiber's stack is not on this one.
  if (here >= kStack.begin && place >= here && place < kStack.end) return true;
  return place >= kHeapAtLoad && place < reinterpret_cast<std::uintptr_t>(sbrk(0));
}

}  // namespace isthmus::host

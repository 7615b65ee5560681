#include "host/cpu/cpu_cache.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace isthmus::host {
namespace {

constexpr std::uintptr_t kLineBytes = 64;  // of every CPU that has these two instructions

#if defined(__x86_64__)
constexpr std::string_view kInstruction = "clflush";  // every x86-64 CPU has it; its speed doesn't
                                                      // matter here
void evict_line(const void* line) { _mm_clflush(line); }
void wait_for_evictions() { _mm_mfence(); }
#elif defined(__aarch64__)
constexpr std::string_view kInstruction = "dc civac";  // Linux allows it in programs
void evict_line(const void* line) { asm volatile("dc civac, %0" ::"r"(line) : "memory"); }
void wait_for_evictions() { asm volatile("dsb sy" ::: "memory"); }
#else
constexpr std::string_view kInstruction = "";
void evict_line(const void* /*line*/) {}
void wait_for_evictions() {}
#endif

}  // namespace

std::string_view eviction_instruction() noexcept { return kInstruction; }

bool evict_from_caches(const void* address, std::size_t size_bytes) noexcept {
  if (kInstruction.empty()) return false;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = begin + size_bytes;
  for (std::uintptr_t line = begin / kLineBytes * kLineBytes; line < end; line += kLineBytes) {
    evict_line(reinterpret_cast<const void*>(line));
  }
  wait_for_evictions();
  return true;
}

}  // namespace isthmus::host

#include "host/cpu/copy_instructions.hpp"

#include <cstdint>
#include <utility>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace isthmus::host {
namespace {

constexpr bool bit(std::uint64_t word, unsigned position) { return (word >> position & 1U) != 0; }

constexpr std::uint64_t kAvxState = 0x6;      // XMM and YMM are saved
constexpr std::uint64_t kAvx512State = 0xe6;  // and opmask, ZMM

#if defined(__x86_64__) || defined(__i386__)
constexpr unsigned kOsXsave = 27;

std::uint64_t read_xcr0() {
  // Not _xgetbv(): that needs -mxsave for the whole file.
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32U | low;
}

X86Features read_x86() {
  X86Features features;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    features.leaf1_ecx = ecx;
    if (bit(ecx, kOsXsave)) features.xcr0 = read_xcr0();
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    features.leaf7_ebx = ebx;
    features.leaf7_ecx = ecx;
    features.leaf7_edx = edx;
  }
  return features;
}
#endif

}  // namespace

CopyInstructions decode_x86(const X86Features& features) noexcept {
  const bool avx_saved = (features.xcr0 & kAvxState) == kAvxState;
  const bool avx512_saved = (features.xcr0 & kAvx512State) == kAvx512State;
  CopyInstructions found;
  found.sse4_1 = bit(features.leaf1_ecx, 19);
  found.avx2 = bit(features.leaf7_ebx, 5) && avx_saved;
  found.avx512f = bit(features.leaf7_ebx, 16) && avx512_saved;
  found.cldemote = bit(features.leaf7_ecx, 25);
  found.movdiri = bit(features.leaf7_ecx, 27);
  found.movdir64b = bit(features.leaf7_ecx, 28);
  found.erms = bit(features.leaf7_ebx, 9);
  found.fsrm = bit(features.leaf7_edx, 4);
  return found;
}

CopyInstructions copy_instructions() {
#if defined(__x86_64__) || defined(__i386__)
  return decode_x86(read_x86());
#elif defined(__aarch64__)
  // HWCAP_ASIMD and HWCAP_SVE of asm/hwcap.h, which doesn't exist on other architectures.
  const std::uint64_t capabilities = getauxval(AT_HWCAP);
  CopyInstructions found;
  found.neon = bit(capabilities, 1);
  found.sve = bit(capabilities, 22);
  return found;
#else
  return {};
#endif
}

std::vector<std::string> copy_instruction_names(const CopyInstructions& instructions) {
  const std::pair<bool, const char*> all[] = {
      {instructions.sse4_1, "sse4_1"},       {instructions.avx2, "avx2"},
      {instructions.avx512f, "avx512f"},     {instructions.movdiri, "movdiri"},
      {instructions.movdir64b, "movdir64b"}, {instructions.cldemote, "cldemote"},
      {instructions.erms, "erms"},           {instructions.fsrm, "fsrm"},
      {instructions.neon, "neon"},           {instructions.sve, "sve"}};
  std::vector<std::string> names;
  for (const auto& [present, name] : all) {
    if (present) names.emplace_back(name);
  }
  return names;
}

}  // namespace isthmus::host

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

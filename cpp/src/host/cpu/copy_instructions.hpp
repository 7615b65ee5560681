// The instructions that matter for copying memory, if both the CPU and the system support them.
// Empties the CPU's caches for measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::host {

struct CopyInstructions {
  bool sse4_1 = false;   ///< MOVNTDQA: streaming loads, the fast way to read write-combined memory
  bool avx2 = false;     ///< 32-byte streaming loads
  bool avx512f = false;  ///< 64-byte loads and stores: a whole line
  bool movdiri = false;  ///< 4- or 8-byte direct stores
  bool movdir64b = false;  ///< 64-byte direct stores, atomic on the bus
  bool cldemote = false;   ///< lines can be moved from a core's caches to the shared one
  bool erms = false;       ///< fast REP MOVSB
  bool fsrm = false;       ///< fast REP MOVSB for short copies
  bool neon = false;       ///< 16-byte vectors on 64-bit Arm
  bool sve = false;        ///< scalable vectors on 64-bit Arm
};

/// The instructions that this machine's CPU has and its system has enabled.
CopyInstructions copy_instructions();

/// The names of the available ones, as /proc/cpuinfo spells them: {"sse4_1", "avx2"}.
std::vector<std::string> copy_instruction_names(const CopyInstructions& instructions);

/// The x86 registers that copy_instructions() reads.
struct X86Features {
  std::uint32_t leaf1_ecx = 0;
  std::uint32_t leaf7_ebx = 0;
  std::uint32_t leaf7_ecx = 0;
  std::uint32_t leaf7_edx = 0;
  std::uint64_t xcr0 = 0;  ///< 0 without OSXSAVE
};

/// Decodes the registers.
///
/// Source      Intel SDM vol. 2A (CPUID) and vol. 1 section 14.3, 15.2 (detecting AVX and AVX-512).
CopyInstructions decode_x86(const X86Features& features) noexcept;

/// The instruction of evict_from_caches(): "clflush", "dc civac"; "" if there is none.
std::string_view eviction_instruction() noexcept;

/// Writes back and drops every cache line of [address, address + size_bytes) from all caches of all
/// cores, and waits for it. The contents don't change.
///
/// Returns     false, and does nothing, if programs may not do that
/// Source      Intel SDM vol. 2A, CLFLUSH; Arm ARM, DC CIVAC.
bool evict_from_caches(const void* address, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host

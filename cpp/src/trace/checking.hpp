// Whether a trace keeps the rules of trace.hpp. Files and importers can't be trusted to.
#pragma once

#include <cstdint>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// The addresses that a GPU can have: 57 bits, the widest of CUDA's unified address space.
/// Source: Linux's five-level page tables, which unified addressing follows.
inline constexpr std::uint64_t kAddressesEnd = std::uint64_t{1} << 57U;
/// The most threads of a CTA. Source: CUDA C++ Programming Guide, compute capabilities.
inline constexpr std::uint32_t kMaxThreadsPerCta = 1024;
inline constexpr std::uint32_t kThreadsPerWarp = 32;

/// Throws      UsageError if a launch, an allocation or a host step of the program can't be.
void check_program(const Program& program);

/// Throws      UsageError if a block of this program breaks a rule of trace.hpp; the message says
///             which warp and operation do.
void check_block(const Program& program, const Block& block);

/// Follows the blocks of a program from its first: none may be missing, twice, or out of turn.
class BlockOrder {
public:
  /// The program must outlive this.
  explicit BlockOrder(const Program& program) : program_(program) {}

  /// Throws      UsageError if another block was due.
  void check(const Block& block);
  /// Throws      UsageError if the last block came before the program's end.
  void check_end() const;
  void rewind() { launch_ = next_cta_ = 0; }

private:
  const Program& program_;
  std::uint32_t launch_ = 0;
  std::uint32_t next_cta_ = 0;
};

}  // namespace isthmus::trace

// Checks that a trace follows the rules of trace.hpp. Files and importers aren't trusted.
#pragma once

#include <cstdint>
#include <map>

#include "trace/trace.hpp"

namespace isthmus::trace {

/// The addresses that a GPU can have: 57 bits, the widest of CUDA's unified address space. Source:
/// Linux's five-level page tables; unified addressing has the same limit.
inline constexpr std::uint64_t kAddressesEnd = std::uint64_t{1} << 57U;
/// The most threads of a CTA. Source: CUDA C++ Programming Guide, compute capabilities.
inline constexpr std::uint32_t kMaxThreadsPerCta = 1024;
inline constexpr std::uint32_t kThreadsPerWarp = 32;

/// Throws      UsageError if a launch, an allocation or a host step of the program is impossible.
void check_program(const Program& program);

/// Numbers a program's streams from 0, in the order in which it first uses them.
///
/// Throws      UsageError if there are more than kMaxStreams.
std::map<std::uint32_t, std::uint32_t> number_streams(const Program& program);

/// Throws      UsageError if a block of this program violates a rule of trace.hpp; the message
///             names the warp and the operation.
void check_block(const Program& program, const Block& block);

/// Checks the order of a program's blocks: none may be missing, repeated or out of order.
class BlockOrder {
public:
  /// The program must outlive this.
  explicit BlockOrder(const Program& program) : program_(program) {}

  /// Throws      UsageError if `block` isn't the next one.
  void check(const Block& block);
  /// Throws      UsageError if blocks are missing at the program's end.
  void check_end() const;
  void rewind() { launch_ = next_cta_ = 0; }

private:
  const Program& program_;
  std::uint32_t launch_ = 0;
  std::uint32_t next_cta_ = 0;
};

}  // namespace isthmus::trace

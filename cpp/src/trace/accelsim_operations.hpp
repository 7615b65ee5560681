// Converts SASS instructions to the operations of a block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "trace/accelsim_header.hpp"
#include "trace/accelsim_instruction.hpp"
#include "trace/block_builder.hpp"
#include "trace/touched_lines.hpp"

namespace isthmus::trace {

/// Counts for totals and warnings.
struct ImportCounts {
  std::uint64_t instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::uint64_t memory_operations = 0;  ///< of global memory
  std::uint64_t local_operations = 0;
  std::uint64_t global_loads = 0;       ///< with at least one lane
  std::uint64_t zero_loads = 0;         ///< of these: with address 0 in every lane
  std::uint64_t texture_accesses = 0;   ///< no trace has their addresses
  std::uint64_t constant_accesses = 0;  ///< like texture_accesses
  std::uint64_t bulk_copies = 0;        ///< omitted
  std::uint64_t copies_to_shared = 0;   ///< with a global address
  std::uint64_t half_copies = 0;        ///< of these: only the shared address was recorded
  std::uint64_t unplaced_generic = 0;   ///< generic accesses, with a window's base of 0
  std::uint64_t unplaced_lanes = 0;     ///< accesses with more addresses than lanes
  std::uint64_t unknown_accesses = 0;   ///< with addresses, by unknown opcodes
  std::uint64_t missing_ctas = 0;       ///< of the grid: assumed to do nothing
  std::uint64_t absent_lines = 0;       ///< of kernels' headers: assumed to be 0
  std::uint64_t unknown_gpus = 0;       ///< kernels whose SMs have unknown limits
};

/// Records a warp's instructions as operations.
class AccelSimOperations {
public:
  /// Both must outlive this. The header must be complete.
  AccelSimOperations(const KernelHeader& header, TouchedLines& touched)
      : header_(header), touched_(touched) {}

  /// Throws      UsageError for addresses that no GPU has.
  void add(const Instruction& instruction, BlockBuilder& block);
  void end_warp(BlockBuilder& block);

  ImportCounts& counts() { return counts_; }
  std::uint32_t local_bytes_per_thread() const { return local_bytes_per_thread_; }

private:
  // 32 lanes, each with 32 bytes that straddle two lines.
  static constexpr std::size_t kMaxLines = 64;
  // 32 lanes, each with 32 bytes that need not be aligned to a word.
  static constexpr std::size_t kMaxWords = 288;

  template <std::size_t N>
  struct Distinct {
    std::array<std::uint64_t, N> values;
    std::size_t count = 0;
    void add(std::uint64_t value);
    std::span<const std::uint64_t> all() const { return {values.data(), count}; }
  };

  void add_access(const Instruction& instruction, BlockBuilder& block);
  void gather(std::uint64_t address, std::uint32_t size_bytes);
  void gather_local(std::uint64_t address, std::uint32_t size_bytes);
  void gather_generic(std::uint64_t address, std::uint32_t size_bytes);
  void gather_copy(std::uint64_t address, std::uint32_t size_bytes);
  void gather_all(const Instruction& instruction);
  void count_load(const Instruction& instruction);
  void count_untraced(const Instruction& instruction);
  void emit(OpKind kind, std::span<const std::uint64_t> lines, BlockBuilder& block);
  void pass_instruction();

  const KernelHeader& header_;
  TouchedLines& touched_;
  ImportCounts counts_;
  std::uint32_t compute_ = 0;
  std::uint32_t local_bytes_per_thread_ = 0;
  std::optional<bool> stack_from_top_;
  Distinct<kMaxLines> lines_;
  Distinct<kMaxWords> words_;
};

}  // namespace isthmus::trace

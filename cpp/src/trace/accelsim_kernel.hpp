// Reads an Accel-Sim trace of one kernel, in pieces, into blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/accelsim_operations.hpp"

namespace isthmus::trace {

/// Parses a `.traceg` file incrementally: text goes in, blocks come out. Memory is bounded by a
/// block, which is at most the largest CTA.
///
///     while (there is text) {
///       consumed = kernel.feed(text);             // stops early when a block is full
///       if (kernel.block_full()) { use(kernel.block()); kernel.drop_block(); }
///     }
///     kernel.finish(); use(kernel.block());       // the remainder, if num_ctas > 0
class AccelSimKernel {
public:
  /// `file` is the name in error messages; `touched` must outlive this.
  AccelSimKernel(std::string file, std::uint32_t launch, TouchedLines& touched);

  /// Reads lines until a block is full. Returns how much of the text it has consumed.
  ///
  /// Throws      UsageError, which names file and line, for text that isn't such a trace.
  std::size_t feed(std::string_view text);

  /// Ends the text. With `missing_ctas_do_nothing`, the grid's last CTAs may be absent; otherwise
  /// missing CTAs mean a truncated file.
  ///
  /// Throws      UsageError for a trace that ends too early, or is impossible.
  void finish(bool missing_ctas_do_nothing);

  bool block_full() const { return state_ == State::between_ctas && block_.full(); }
  Block block() const { return block_.block(launch_, first_cta_); }
  void drop_block();

  /// With the number of CTAs read so far. Complete after finish().
  Launch launch() const;
  const KernelHeader& header() const { return header_; }
  const ImportCounts& counts() { return operations_.counts(); }

private:
  enum class State : std::uint8_t { header, between_ctas, in_cta };

  void take_line(std::string_view line);
  void take_header_line(std::string_view line);
  void take_outer_line(std::string_view line);
  void take_cta_line(std::string_view line);
  void begin_cta();
  void place_cta(std::string_view position);
  void begin_warp(std::uint64_t warp);
  void begin_instructions(std::uint64_t count);
  void take_instruction(std::string_view line);
  void close_warp();
  void close_warps_until(std::uint64_t warp);
  void end_cta();
  [[noreturn]] void fail(const std::string& why) const;

  std::string file_;
  std::uint32_t launch_;
  KernelHeader header_;
  Launch shape_;
  LineFormat format_;
  AccelSimOperations operations_;
  BlockBuilder block_;
  Instruction instruction_;

  State state_ = State::header;
  std::string unfinished_line_;
  std::uint64_t line_number_ = 0;
  std::uint32_t first_cta_ = 0;
  std::uint32_t num_ctas_ = 0;
  std::uint64_t next_position_ = 0;  // in the grid, counted with x fastest
  bool cta_placed_ = false;
  std::uint64_t next_warp_ = 0;
  bool in_warp_ = false;
  std::optional<std::uint64_t> instructions_due_;
};

}  // namespace isthmus::trace

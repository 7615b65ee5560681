// Records a warp's memory operations while it runs.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"
#include "workloads/recording/lanes.hpp"

namespace isthmus::workloads {

/// The operations of one warp of one CTA, in the arrays that a trace::Block has.
class WarpLog {
public:
  /// Counts instructions without memory access, executed by all lanes of `active`.
  void compute(std::uint32_t num_instructions, Mask active) {
    pending_compute_ += num_instructions;
    thread_instructions_ += std::uint64_t{num_instructions} * lanes_of(active);
  }

  /// Records an access: the line of each active lane, each line once, in the order of the first
  /// lane that accesses it. One instruction.
  void access(trace::OpKind kind, const std::uint32_t (&lines)[kNumLanes], Mask active) {
    std::uint64_t distinct[kNumLanes];
    const std::uint32_t num_lines = distinct_lines(lines, active.bits, distinct);
    close_op(kind, active);
    lines_.insert(lines_.end(), distinct, distinct + num_lines);
    line_ends_.push_back(static_cast<std::uint32_t>(lines_.size()));
  }

  /// Records an access to one line, or to one word of local memory, by all lanes.
  void access_one(trace::OpKind kind, std::uint64_t line, Mask active) {
    close_op(kind, active);
    lines_.push_back(line);
    line_ends_.push_back(static_cast<std::uint32_t>(lines_.size()));
  }

  /// Records an operation without lines. A barrier is an instruction; `end` isn't.
  void without_lines(trace::OpKind kind, Mask active) {
    close_op(kind, kind == trace::OpKind::end ? Mask{0} : active);
    line_ends_.push_back(static_cast<std::uint32_t>(lines_.size()));
  }

  void clear();

  const std::vector<std::uint8_t>& kinds() const { return kinds_; }
  const std::vector<std::uint32_t>& compute() const { return compute_; }
  /// For each operation the end of its lines.
  const std::vector<std::uint32_t>& line_ends() const { return line_ends_; }
  const std::vector<std::uint64_t>& lines() const { return lines_; }
  /// Instructions times the lanes that executed them.
  std::uint64_t thread_instructions() const { return thread_instructions_; }

private:
  static std::uint32_t lanes_of(Mask mask) {
    return static_cast<std::uint32_t>(std::popcount(mask.bits));
  }

  static std::uint32_t distinct_lines(const std::uint32_t (&lines)[kNumLanes], std::uint32_t active,
                                      std::uint64_t (&distinct)[kNumLanes]) {
    std::uint32_t num_lines = 0;
    while (active != 0) {
      const std::uint32_t line = lines[std::countr_zero(active)];
      distinct[num_lines++] = line;
      active &= ~bits_where([&](std::uint32_t lane) { return lines[lane] == line; });
    }
    return num_lines;
  }

  void close_op(trace::OpKind kind, Mask active) {
    kinds_.push_back(static_cast<std::uint8_t>(kind));
    compute_.push_back(pending_compute_);
    pending_compute_ = 0;
    thread_instructions_ += lanes_of(active);
  }

  std::vector<std::uint8_t> kinds_;
  std::vector<std::uint32_t> compute_;
  std::vector<std::uint32_t> line_ends_;
  std::vector<std::uint64_t> lines_;
  std::uint32_t pending_compute_ = 0;
  std::uint64_t thread_instructions_ = 0;
};

inline void WarpLog::clear() {
  kinds_.clear();
  compute_.clear();
  line_ends_.clear();
  lines_.clear();
  pending_compute_ = 0;
  thread_instructions_ = 0;
}

}  // namespace isthmus::workloads

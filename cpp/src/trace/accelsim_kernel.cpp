#include "trace/accelsim_kernel.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <utility>

#include "trace/text_reader.hpp"

namespace isthmus::trace {
namespace {

// Instructions take less than a kilobyte, mangled names somewhat more.
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20U;
// From this version on, instructions don't repeat their CTA and warp.
constexpr std::uint64_t kFirstGroupedVersion = 3;
// Until this one there were tracers that list lanes which are predicated off.
constexpr std::uint64_t kLastVersionOfMoreAddresses = 3;
// From this version on, lines end with the values of registers, or say that they are absent.
constexpr std::uint64_t kFirstVersionOfValues = 6;

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
    line.remove_suffix(1);
  }
  return line;
}

/// The value of "key = value"; none if the line has another key.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  const std::size_t equals = line.find_first_not_of(' ');
  if (equals == std::string_view::npos || line[equals] != '=') return std::nullopt;
  const std::size_t start = line.find_first_not_of(' ', equals + 1);
  return start == std::string_view::npos ? std::string_view{} : line.substr(start);
}

}  // namespace

AccelSimKernel::AccelSimKernel(std::string file, std::uint32_t launch, TouchedLines& touched)
    : file_(std::move(file)), launch_(launch), operations_(header_, touched) {}

void AccelSimKernel::fail(const std::string& why) const {
  throw UsageError(file_ + ", line " + std::to_string(line_number_) + ": " + why);
}

std::size_t AccelSimKernel::feed(std::string_view text) {
  std::size_t consumed = 0;
  while (consumed < text.size() && !block_full()) {
    const std::string_view rest = text.substr(consumed);
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    if (unfinished_line_.size() + length > kMaxLineBytes) fail("the line after it has no end");
    if (length == rest.size()) {
      unfinished_line_ += rest;
      return text.size();
    }
    consumed += length + 1;
    if (unfinished_line_.empty()) {
      take_line(rest.substr(0, length));
    } else {
      unfinished_line_ += rest.substr(0, length);
      take_line(std::exchange(unfinished_line_, {}));
    }
  }
  return consumed;
}

void AccelSimKernel::take_line(std::string_view line) {
  ++line_number_;
  line = without_end(line);
  if (line.empty()) return;
  try {
    if (state_ == State::in_cta) return take_cta_line(line);
    if (state_ == State::header) return take_header_line(line);
    take_outer_line(line);
  } catch (const UsageError& error) {
    fail(error.what());
  }
}

void AccelSimKernel::take_header_line(std::string_view line) {
  if (line.front() == '-') return header_.parse_line(line);
  if (line.front() != '#') {
    throw UsageError("'" + shown(line) + "' is no line of an Accel-Sim trace's header");
  }
  shape_ = header_.launch();
  operations_.counts().absent_lines += header_.num_absent_lines();
  operations_.counts().unknown_gpus += header_.is_of_known_gpu() ? 0 : 1;
  format_.has_cta_and_warp = header_.tracer_version < kFirstGroupedVersion;
  format_.has_source_line = header_.has_source_lines;
  format_.has_values = header_.tracer_version >= kFirstVersionOfValues;
  format_.may_have_more_addresses = header_.tracer_version <= kLastVersionOfMoreAddresses;
  state_ = State::between_ctas;
  take_outer_line(line);
}

void AccelSimKernel::take_outer_line(std::string_view line) {
  if (line == "#BEGIN_TB") return begin_cta();
  if (line == "#END_TB") throw UsageError("#END_TB without #BEGIN_TB");
  if (line.front() == '#') return;
  throw UsageError("'" + shown(line) +
                   "' lies outside of a thread block; of a raw .trace file, import what "
                   "post-traces-processing makes of it");
}

void AccelSimKernel::take_cta_line(std::string_view line) {
  if (line == "#END_TB") return end_cta();
  if (line.front() == '#') throw UsageError("'" + shown(line) + "' within a thread block");
  if (const auto position = value_of(line, "thread block")) return place_cta(*position);
  if (const auto warp = value_of(line, "warp")) return begin_warp(whole_decimal(*warp, "warp"));
  if (const auto count = value_of(line, "insts")) {
    return begin_instructions(whole_decimal(*count, "insts"));
  }
  // Tracers for Hopper add the CTA's position in its cluster.
  if (line.starts_with("cluster ")) return;
  take_instruction(line);
}

void AccelSimKernel::begin_cta() {
  state_ = State::in_cta;
  cta_placed_ = in_warp_ = false;
  instructions_due_.reset();
  next_warp_ = 0;
}

void AccelSimKernel::place_cta(std::string_view text) {
  if (cta_placed_) throw UsageError("the thread block has two places");
  const GridPosition position = parse_position(text, "thread block");
  const GridPosition& grid = header_.grid;
  if (position.x >= grid.x || position.y >= grid.y || position.z >= grid.z) {
    throw UsageError("thread block " + shown(text) + " lies outside of the grid");
  }
  const std::uint64_t number = (position.z * grid.y + position.y) * grid.x + position.x;
  if (number < next_position_) {
    throw UsageError("thread block " + shown(text) + " comes twice or out of order");
  }
  operations_.counts().missing_ctas += number - next_position_;
  next_position_ = number + 1;
  cta_placed_ = true;
}

void AccelSimKernel::begin_warp(std::uint64_t warp) {
  if (!cta_placed_) throw UsageError("a warp comes before 'thread block ='");
  close_warp();
  if (warp < next_warp_ || warp >= shape_.warps_per_cta) {
    throw UsageError("warp " + std::to_string(warp) + " comes twice, out of order, or is not of " +
                     std::to_string(shape_.warps_per_cta));
  }
  close_warps_until(warp);
  in_warp_ = true;
}

void AccelSimKernel::begin_instructions(std::uint64_t count) {
  if (!in_warp_ || instructions_due_) throw UsageError("'insts =' without 'warp =' before it");
  instructions_due_ = count;
}

void AccelSimKernel::take_instruction(std::string_view line) {
  if (!instructions_due_) throw UsageError("'" + shown(line) + "' comes before 'insts ='");
  if (*instructions_due_ == 0) throw UsageError("the warp has more instructions than 'insts' says");
  --*instructions_due_;
  parse_instruction(line, format_, instruction_);
  operations_.add(instruction_, block_);
}

void AccelSimKernel::close_warp() {
  if (!in_warp_) return;
  if (!instructions_due_) throw UsageError("the warp before has no 'insts ='");
  if (*instructions_due_ > 0) {
    throw UsageError(std::to_string(*instructions_due_) + " instructions of the warp are missing");
  }
  operations_.end_warp(block_);
  instructions_due_.reset();
  in_warp_ = false;
  ++next_warp_;
}

/// Warps that the trace omits have no operations.
void AccelSimKernel::close_warps_until(std::uint64_t warp) {
  for (; next_warp_ < warp; ++next_warp_) operations_.end_warp(block_);
}

void AccelSimKernel::end_cta() {
  if (!cta_placed_) throw UsageError("the thread block has no 'thread block ='");
  close_warp();
  close_warps_until(shape_.warps_per_cta);
  block_.end_cta();
  ++num_ctas_;
  state_ = State::between_ctas;
}

void AccelSimKernel::finish(bool missing_ctas_do_nothing) {
  if (!unfinished_line_.empty()) take_line(std::exchange(unfinished_line_, {}));
  if (state_ == State::header) fail("the file ends within its header: it is truncated");
  if (state_ == State::in_cta) fail("the file ends within a thread block: it is truncated");
  if (num_ctas_ == 0) fail("the file has no thread blocks");
  ImportCounts& counts = operations_.counts();
  const std::uint64_t missing = header_.grid_ctas() - next_position_;
  if (missing > 0 && !missing_ctas_do_nothing) {
    fail("the file ends " + std::to_string(missing) + " thread blocks before the grid's end of " +
         std::to_string(header_.grid_ctas()) + ": it is truncated, or they did nothing");
  }
  counts.missing_ctas += missing;
  if (counts.global_loads > 0 && counts.zero_loads == counts.global_loads) {
    fail("every load of the kernel is of address 0: an old tracer's bug; trace it anew");
  }
}

void AccelSimKernel::drop_block() {
  first_cta_ += block_.num_ctas();
  block_.clear();
}

Launch AccelSimKernel::launch() const {
  Launch launch = shape_;
  launch.num_ctas = num_ctas_;
  launch.local_bytes_per_thread = operations_.local_bytes_per_thread();
  return launch;
}

}  // namespace isthmus::trace

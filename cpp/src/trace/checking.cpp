#include "trace/checking.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "trace/text_reader.hpp"

namespace isthmus::trace {
namespace {

constexpr std::uint64_t kLinesEnd = kAddressesEnd / kLineBytes;

std::string numbered(const char* noun, std::size_t number) {
  return std::string(noun) + " " + std::to_string(number);
}

void check_range(const std::string& who, std::uint64_t address, std::uint64_t size_bytes) {
  if (size_bytes == 0) throw UsageError(who + " has no bytes");
  if (address >= kAddressesEnd || size_bytes > kAddressesEnd - address) {
    throw UsageError(who + " lies beyond the 57 bits of a GPU's addresses");
  }
}

void check_launch(const Launch& launch, const std::string& who) {
  if (launch.num_ctas == 0) throw UsageError(who + " has no CTAs");
  if (launch.threads_per_cta == 0 || launch.threads_per_cta > kMaxThreadsPerCta) {
    throw UsageError(who + " has " + std::to_string(launch.threads_per_cta) +
                     " threads in a CTA: 1 to 1024 are possible");
  }
  const std::uint32_t num_warps = (launch.threads_per_cta + kThreadsPerWarp - 1) / kThreadsPerWarp;
  if (launch.warps_per_cta != num_warps) {
    throw UsageError(who + " has " + std::to_string(launch.warps_per_cta) + " warps in a CTA of " +
                     std::to_string(launch.threads_per_cta) +
                     " threads: " + std::to_string(num_warps) + " are needed");
  }
  if (launch.stream == kAllStreams) throw UsageError(who + " has no stream");
}

void check_steps(const std::vector<HostStep>& steps, const std::string& where) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const HostStep& step = steps[i];
    const std::string who = numbered("host step", i) + where;
    check_range(who, step.address, step.size_bytes);
    const bool copies = step.kind != HostStep::Kind::read && step.kind != HostStep::Kind::write;
    if (step.stream == kAllStreams || copies) continue;
    throw UsageError(who + " is an access of the CPU in stream " + std::to_string(step.stream) +
                     ": only copies have a stream");
  }
}

/// Offsets must start at 0, not decrease, and end at the number of elements they index.
void check_offsets(const char* name, std::span<const std::uint32_t> offsets, std::size_t count,
                   std::size_t num_targets) {
  if (offsets.size() != count + 1) {
    throw UsageError(std::string(name) + " has " + std::to_string(offsets.size()) + " offsets, " +
                     std::to_string(count + 1) + " are needed");
  }
  if (offsets.front() != 0) throw UsageError(std::string(name) + " doesn't start at 0");
  bool rises = true;
  for (std::size_t i = 0; i < count; ++i) rises &= offsets[i] <= offsets[i + 1];
  if (!rises) throw UsageError(std::string(name) + " falls");
  if (offsets.back() != num_targets) {
    throw UsageError(std::string(name) + " ends at " + std::to_string(offsets.back()) + " of " +
                     std::to_string(num_targets));
  }
}

bool line_count_fits(std::uint8_t kind, std::uint32_t num_lines) {
  switch (static_cast<OpKind>(kind)) {
    case OpKind::load:
    case OpKind::store:
    case OpKind::atomic:
      return num_lines > 0;
    case OpKind::local_load:
    case OpKind::local_store:
      return num_lines == 1;
    case OpKind::barrier:
    case OpKind::end:
      return num_lines == 0;
  }
  return false;
}

/// Throws an error that names the invalid operation of a warp; called when there is one.
void blame_operation(const Block& block, std::size_t warp) {
  for (std::uint32_t op = block.op_begin[warp]; op < block.op_begin[warp + 1]; ++op) {
    const std::uint8_t kind = block.kinds[op];
    const std::uint32_t num_lines = block.line_begin[op + 1] - block.line_begin[op];
    const std::string who =
        numbered("operation", op - block.op_begin[warp]) + numbered(" of warp", warp);
    if (kind > static_cast<std::uint8_t>(OpKind::end)) {
      throw UsageError(who + " is of kind " + std::to_string(kind) + ", which doesn't exist");
    }
    if (!line_count_fits(kind, num_lines)) {
      throw UsageError(who + ", of kind " + std::to_string(kind) + ", has " +
                       std::to_string(num_lines) + " lines");
    }
    const bool last = op + 1 == block.op_begin[warp + 1];
    if (last != (kind == static_cast<std::uint8_t>(OpKind::end))) {
      throw UsageError(who + (last ? " is its last and no end" : " is an end and not its last"));
    }
  }
}

void check_warp(const Block& block, std::size_t warp) {
  const std::uint32_t first = block.op_begin[warp];
  const std::uint32_t past = block.op_begin[warp + 1];
  if (first == past)
    throw UsageError(numbered("warp", warp) + " has no operations, not even an end");
  bool good = true;
  for (std::uint32_t op = first; op < past; ++op) {
    const std::uint32_t num_lines = block.line_begin[op + 1] - block.line_begin[op];
    const bool ends = block.kinds[op] == static_cast<std::uint8_t>(OpKind::end);
    good &= line_count_fits(block.kinds[op], num_lines) && ends == (op + 1 == past);
  }
  if (!good) blame_operation(block, warp);
}

/// In local memory, a line number is the index of a word of the thread.
void check_local_words(const Block& block, const Launch& launch) {
  const std::uint64_t num_words = (std::uint64_t{launch.local_bytes_per_thread} + 3) / 4;
  for (std::size_t op = 0; op < block.kinds.size(); ++op) {
    if (!is_local(static_cast<OpKind>(block.kinds[op]))) continue;
    const std::uint64_t word = block.lines[block.line_begin[op]];
    if (word < num_words) continue;
    throw UsageError(numbered("operation", op) + " of the block is of local word " +
                     std::to_string(word) + ", but a thread has " +
                     std::to_string(launch.local_bytes_per_thread) + " bytes");
  }
}

void check_lines(const Block& block) {
  bool good = true;
  for (const std::uint64_t line : block.lines) good &= line < kLinesEnd;
  if (!good) throw UsageError("a line lies beyond the 57 bits of a GPU's addresses");
}

std::string name_of(const Program& program, std::size_t index) {
  return numbered("allocation", index) + " '" + shown(program.allocations[index].name) + "'";
}

void check_allocations(const Program& program) {
  std::vector<std::size_t> by_address;
  for (std::size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& allocation = program.allocations[i];
    check_range(name_of(program, i), allocation.address, allocation.size_bytes);
    by_address.push_back(i);
  }
  std::ranges::sort(by_address, {}, [&](std::size_t i) { return program.allocations[i].address; });
  for (std::size_t i = 1; i < by_address.size(); ++i) {
    const Allocation& before = program.allocations[by_address[i - 1]];
    if (program.allocations[by_address[i]].address - before.address >= before.size_bytes) continue;
    throw UsageError(name_of(program, by_address[i]) + " overlaps " +
                     name_of(program, by_address[i - 1]) +
                     ": a byte belongs to one allocation. Join them, or those that used the same "
                     "memory one after the other");
  }
}

}  // namespace

void check_program(const Program& program) {
  if (program.launches.empty()) throw UsageError("the program launches no kernel");
  check_allocations(program);
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    check_launch(program.launches[i], numbered("launch", i));
    check_steps(program.launches[i].before, numbered(" before launch", i));
  }
  check_steps(program.after, " after the last launch");
  number_streams(program);
}

std::map<std::uint32_t, std::uint32_t> number_streams(const Program& program) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  const auto add = [&numbers](const auto& of) {
    if (of.stream == kAllStreams) return;
    numbers.emplace(of.stream, static_cast<std::uint32_t>(numbers.size()));
    if (numbers.size() <= kMaxStreams) return;
    throw UsageError("the program has more than " + std::to_string(kMaxStreams) +
                     " streams: give fewer of them to its launches and copies");
  };
  for (const Launch& launch : program.launches) {
    std::ranges::for_each(launch.before, add);
    add(launch);
  }
  std::ranges::for_each(program.after, add);
  return numbers;
}

void check_block(const Program& program, const Block& block) {
  if (block.launch >= program.launches.size()) {
    throw UsageError(numbered("launch", block.launch) + " of " +
                     std::to_string(program.launches.size()) + " doesn't exist");
  }
  const Launch& launch = program.launches[block.launch];
  if (block.num_ctas == 0 || block.first_cta >= launch.num_ctas ||
      block.num_ctas > launch.num_ctas - block.first_cta) {
    throw UsageError(std::to_string(block.num_ctas) + numbered(" CTAs from CTA", block.first_cta) +
                     " are not in a launch of " + std::to_string(launch.num_ctas));
  }
  const std::size_t num_warps = std::size_t{block.num_ctas} * launch.warps_per_cta;
  const std::size_t num_ops = block.kinds.size();
  check_offsets("op_begin", block.op_begin, num_warps, num_ops);
  check_offsets("line_begin", block.line_begin, num_ops, block.lines.size());
  if (block.compute.size() != num_ops) {
    throw UsageError("compute has " + std::to_string(block.compute.size()) + " numbers for " +
                     std::to_string(num_ops) + " operations");
  }
  for (std::size_t warp = 0; warp < num_warps; ++warp) check_warp(block, warp);
  check_local_words(block, launch);
  check_lines(block);
}

void BlockOrder::check(const Block& block) {
  if (launch_ < program_.launches.size() && next_cta_ == program_.launches[launch_].num_ctas) {
    ++launch_;
    next_cta_ = 0;
  }
  if (block.launch != launch_ || block.first_cta != next_cta_) {
    throw UsageError(numbered("CTA", block.first_cta) + numbered(" of launch", block.launch) +
                     " comes where" + numbered(" CTA", next_cta_) +
                     numbered(" of launch", launch_) + " was due");
  }
  next_cta_ += block.num_ctas;
}

void BlockOrder::check_end() const {
  const bool complete =
      launch_ + 1 == program_.launches.size() && next_cta_ == program_.launches[launch_].num_ctas;
  if (complete) return;
  throw UsageError("the blocks end at" + numbered(" CTA", next_cta_) +
                   numbered(" of launch", launch_) + ", before the program does");
}

}  // namespace isthmus::trace

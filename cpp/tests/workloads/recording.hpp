// Runs a workload to its end and counts the quantities of the reference tables.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/checking.hpp"
#include "workloads/recording/recorder.hpp"

namespace isthmus::workloads::testing {

/// A trace in numbers.
struct Recording {
  std::uint64_t thread_instructions = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t line_requests = 0;  ///< in global memory
  std::uint64_t local_accesses = 0;
  std::uint64_t barriers = 0;
  double upload_kib = 0;
  double touched_kib = 0;   ///< lines of global memory that were accessed
  std::uint64_t pages = 0;  ///< pages of 2 MiB with an accessed line

  double millions() const { return static_cast<double>(thread_instructions) / 1e6; }
};

/// The lines that a trace accesses, a bit for each line of a page of 2 MiB.
class TouchedLines {
public:
  void add(std::uint64_t line) {
    const std::uint64_t page = line / kPageLines;
    if (page != last_page_) {
      last_ = &pages_[page];
      last_page_ = page;
    }
    last_->set(line % kPageLines);
  }
  std::size_t num_pages() const { return pages_.size(); }
  std::size_t num_lines() const {
    std::size_t count = 0;
    for (const auto& [page, lines] : pages_) count += lines.count();
    return count;
  }

private:
  static constexpr std::size_t kPageLines = (std::size_t{1} << 21U) / trace::kLineBytes;
  std::unordered_map<std::uint64_t, std::bitset<kPageLines>> pages_;
  std::bitset<kPageLines>* last_ = nullptr;
  std::uint64_t last_page_ = ~std::uint64_t{0};
};

inline void count_block(Recording& counted, TouchedLines& touched, const trace::Block& block) {
  for (std::size_t op = 0; op < block.kinds.size(); ++op) {
    const auto kind = static_cast<trace::OpKind>(block.kinds[op]);
    const std::uint32_t num_lines = block.line_begin[op + 1] - block.line_begin[op];
    counted.warp_instructions += block.compute[op] + (kind == trace::OpKind::end ? 0 : 1);
    if (kind == trace::OpKind::barrier) ++counted.barriers;
    if (kind == trace::OpKind::local_load || kind == trace::OpKind::local_store) {
      ++counted.local_accesses;
      continue;
    }
    counted.line_requests += num_lines;
    for (std::uint32_t line = 0; line < num_lines; ++line)
      touched.add(block.lines[block.line_begin[op] + line]);
  }
}

inline double upload_kib(const trace::Program& program) {
  std::uint64_t bytes = 0;
  for (const trace::Launch& launch : program.launches)
    for (const trace::HostStep& step : launch.before)
      if (step.kind == trace::HostStep::Kind::upload) bytes += step.size_bytes;
  return static_cast<double>(bytes) / 1024;
}

/// Runs the workload from start to end. Throws UsageError for a block that violates the rules of
/// trace.hpp.
inline Recording record(Recorder& recorder) {
  Recording counted;
  TouchedLines touched;
  recorder.rewind();
  while (const std::optional<trace::Block> block = recorder.next()) {
    trace::check_block(recorder.program(), *block);
    count_block(counted, touched, *block);
  }
  counted.pages = touched.num_pages();
  counted.touched_kib = static_cast<double>(touched.num_lines() * trace::kLineBytes) / 1024;
  counted.upload_kib = upload_kib(recorder.program());
  counted.thread_instructions = recorder.thread_instructions();
  return counted;
}

/// FNV-1a of whole values.
class Fnv {
public:
  void add(std::uint64_t value) { hash_ = (hash_ ^ value) * 1099511628211U; }
  void add(std::string_view text) {
    add(text.size());
    for (const char each : text) add(static_cast<unsigned char>(each));
  }
  void add(const std::vector<trace::HostStep>& steps) {
    add(steps.size());
    for (const trace::HostStep& step : steps) {
      add(static_cast<std::uint64_t>(step.kind));
      add(step.address);
      add(step.size_bytes);
    }
  }
  std::uint64_t hash() const noexcept { return hash_; }

private:
  std::uint64_t hash_ = 14695981039346656037U;
};

/// Adds a program's memory, launches and host steps.
inline void add_launches(Fnv& hash, const trace::Program& program) {
  hash.add(program.allocations.size());
  for (const trace::Allocation& allocation : program.allocations) {
    hash.add(allocation.name);
    hash.add(allocation.address);
    hash.add(allocation.size_bytes);
  }
  hash.add(program.launches.size());
  for (const trace::Launch& launch : program.launches) {
    hash.add(launch.name);
    hash.add(std::uint64_t{launch.num_ctas});
    hash.add(std::uint64_t{launch.warps_per_cta});
    hash.add(std::uint64_t{launch.threads_per_cta});
    hash.add(std::uint64_t{launch.max_ctas_per_sm});
    hash.add(std::uint64_t{launch.local_bytes_per_thread});
    hash.add(launch.before);
  }
  hash.add(program.after);
}

/// What tells a trace from others, in a fraction of a recording's time.
class Digest {
public:
  /// Runs the workload from start to end. Throws UsageError as record() does.
  explicit Digest(Recorder& recorder) {
    recorder.rewind();
    while (const std::optional<trace::Block> block = recorder.next()) {
      trace::check_block(recorder.program(), *block);
      add(block->op_begin);
      add(block->kinds);
      add(block->compute);
      add(block->line_begin);
      add(block->lines);
      max_block_lines_ = std::max(max_block_lines_, block->lines.size());
      ++num_blocks_;
    }
  }

  /// True if the blocks are the same.
  bool operator==(const Digest& other) const { return hashes_ == other.hashes_; }
  /// Of all that is known of the program, too, but its description.
  std::uint64_t with(const trace::Program& program) const {
    Fnv hash;
    hash.add(program.name);
    hash.add(std::uint64_t{program.synthetic});
    add_launches(hash, program);
    hash.add(program.thread_instructions);
    for (const std::uint64_t each : hashes_) hash.add(each);
    return hash.hash();
  }
  /// Of the program's memory, launches and host steps, too; not of its words.
  std::uint64_t with_launches(const trace::Program& program) const {
    Fnv hash;
    add_launches(hash, program);
    for (const std::uint64_t each : hashes_) hash.add(each);
    return hash.hash();
  }
  std::size_t max_block_lines() const noexcept { return max_block_lines_; }
  std::size_t num_blocks() const noexcept { return num_blocks_; }

private:
  /// FNV-1a of every fourth value each: a CPU computes four side by side.
  template <class T>
  void add(std::span<const T> values) {
    hashes_[0] = (hashes_[0] ^ values.size()) * kPrime;
    for (std::size_t i = 0; i < values.size(); ++i)
      hashes_[i % 4] = (hashes_[i % 4] ^ static_cast<std::uint64_t>(values[i])) * kPrime;
  }

  static constexpr std::uint64_t kBasis = 14695981039346656037U;
  static constexpr std::uint64_t kPrime = 1099511628211U;
  std::array<std::uint64_t, 4> hashes_{kBasis, kBasis, kBasis, kBasis};
  std::size_t max_block_lines_ = 0;
  std::size_t num_blocks_ = 0;
};

/// A workload of the class W, run to its end.
template <class W>
struct Recorded {
  explicit Recorded(std::unique_ptr<W> workload)
      : program(*workload), recorder(std::move(workload)), counted(record(recorder)) {}

  W& program;
  Recorder recorder;
  Recording counted;
};

}  // namespace isthmus::workloads::testing

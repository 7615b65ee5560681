// Runs a workload and returns its warps' memory operations, block after block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "trace/block_builder.hpp"
#include "trace/trace.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// A workload as a trace. It computes lazily: memory is bounded by one block, and later blocks
/// haven't been computed yet. rewind() computes everything again, with the same blocks.
class Recorder : public trace::Source {
public:
  explicit Recorder(std::unique_ptr<Workload> workload);

  const trace::Program& program() const override { return workload_->program(); }
  std::optional<trace::Block> next() override;
  void rewind() override;

  /// Instructions times the lanes that executed them, for all blocks since the first.
  std::uint64_t thread_instructions() const { return thread_instructions_; }
  Workload& workload() { return *workload_; }

private:
  void run_cta(std::uint32_t launch, std::uint32_t cta);

  std::unique_ptr<Workload> workload_;
  std::vector<WarpLog> logs_;
  std::uint32_t launch_ = 0;    // of the next block
  std::uint32_t next_cta_ = 0;  // of that launch
  std::uint64_t thread_instructions_ = 0;
  trace::BlockBuilder block_;
};

}  // namespace isthmus::workloads

// A workload that has run on the host: what its memory held before, and the results to expect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workloads/recording/recorder.hpp"
#include "workloads/workload.hpp"

namespace isthmus::workloads {

/// A part of the memory, in bytes from Heap::kFirstAddress on.
struct Part {
  std::uint64_t first = 0;
  std::uint64_t size_bytes = 0;
};

/// A launch, ready for a GPU.
struct ReadyLaunch {
  KernelCall call;
  /// For each of the launch's steps, what the host writes then; empty for other kinds of steps.
  std::vector<std::vector<std::byte>> written;
};

/// Runs a workload once, and keeps both ends of it.
class HostRun {
public:
  explicit HostRun(std::unique_ptr<Workload> workload);

  const trace::Program& program() const { return recorder_.program(); }
  const std::vector<ReadyLaunch>& launches() const { return launches_; }
  /// The memory before the first launch, with gaps between the allocations.
  std::span<const std::byte> memory() const { return memory_; }
  /// What a run changes: whole allocations.
  const std::vector<Part>& changed() const { return changed_; }
  /// What the host reads or writes between launches, in place of copies.
  const std::vector<Part>& touched() const { return touched_; }
  /// What the program copies to the GPU before and between its launches.
  const std::vector<Part>& uploaded() const { return uploaded_; }
  const std::vector<Part>& results() const { return results_; }
  /// What kernels alone make: whole allocations that a run changes, and that the program neither
  /// copies to the GPU nor lets its host touch between launches.
  const std::vector<Part>& made() const { return made_; }
  /// Of it, what no kernel loads before it was stored to.
  const std::vector<Part>& filled() const { return filled_; }

  /// Says how another run's results differ from the host's; empty if they don't, beyond what
  /// Values allows.
  ///
  /// Integers are equal. Of floats (within a thousandth) and of bytes of colours (within 2) at most
  /// one in a thousand is wrong, or four, where a comparison went the other way; and never 32 in a row, which
  /// would be lost bytes.
  ///
  /// memory      like memory(), after that run
  std::string difference(std::span<const std::byte> memory) const;

private:
  void prepare_launches();
  void note_steps();
  std::vector<std::byte> now() const;

  Workload* workload_;
  Recorder recorder_;
  std::vector<ReadyLaunch> launches_;
  std::vector<std::byte> memory_, after_;
  std::vector<Part> changed_, uploaded_, touched_, results_, made_, filled_;
};

/// The part of the memory that a step is about.
inline Part part_of(const trace::HostStep& step) {
  return {step.address - Heap::kFirstAddress, step.size_bytes};
}

}  // namespace isthmus::workloads

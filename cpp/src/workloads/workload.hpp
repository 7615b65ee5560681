// A program that really computes: memory, launches, kernels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.hpp"
#include "workloads/kernel_call.hpp"
#include "workloads/recording/heap.hpp"
#include "workloads/recording/warp.hpp"

namespace isthmus::workloads {

/// How values that a GPU has computed may differ from the host's.
enum class Values {
  integers,  ///< not at all
  floats,    ///< rounding, and functions such as exp, differ
  colours,   ///< bytes that were rounded from floats
};

/// A program of the registry. A derived class allocates its arrays from heap_ and writes the
/// launches of program_ in its constructor, with finish_program() at the end.
class Workload {
public:
  Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  virtual ~Workload() = default;

  const trace::Program& program() const { return program_; }
  /// Sets the program's name and description, as in the registry.
  ///
  /// synthetic   whether an input is made up that comes from a file in the original
  void name_program(std::string_view name, std::string_view description, bool synthetic);
  /// Their number is that of the usual sizes.
  void forget_published_instructions() { program_.thread_instructions = 0; }

  /// Restores the memory's state before the first launch.
  virtual void reset() = 0;
  /// The host's computation before a launch; its copies are in the launch's HostSteps.
  virtual void before(std::uint32_t launch) { static_cast<void>(launch); }
  /// Runs a CTA of a launch. CTAs come in order, after those of earlier launches.
  virtual void run(std::uint32_t launch, Cta& cta) = 0;

  /// A launch for a GPU, after before(launch). By default there is none.
  virtual KernelCall call(std::uint32_t launch) const {
    static_cast<void>(launch);
    return {};
  }
  /// What the results are, of which the program's last steps are the downloads.
  virtual Values results() const { return Values::integers; }
  const Heap& heap() const { return heap_; }

protected:
  template <class T>
  static trace::HostStep step(trace::HostStep::Kind kind, const Array<T>& array) {
    return {kind, array.address, array.num_elements * sizeof(T)};
  }
  template <class T>
  static trace::HostStep upload(const Array<T>& array) {
    return step(trace::HostStep::Kind::upload, array);
  }
  template <class T>
  static trace::HostStep download(const Array<T>& array) {
    return step(trace::HostStep::Kind::download, array);
  }
  /// A launch of CTAs with `num_threads` threads, without host steps.
  static trace::Launch launch(std::string name, std::uint32_t num_ctas,
                              std::uint32_t threads_per_cta);

  /// Fills in the fields that follow from the heap.
  void finish_program() { program_.allocations = heap_.allocations(); }

  Heap heap_;
  trace::Program program_;
};

}  // namespace isthmus::workloads

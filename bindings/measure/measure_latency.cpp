// Small copies in every way, and the small-transfer experiments. Each loop releases the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/latency/latency.hpp"
#include "measure/latency/small_transfer.hpp"
#include "measure/window/window_buffers.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using measure::CopyBuffers;
using measure::HostMemory;
using measure::Measurement;
using measure::Method;
using measure::Stopping;

namespace {

constexpr Word<HostMemory> kHostMemory[] = {{"pinned", HostMemory::pinned},
                                            {"pageable", HostMemory::pageable}};
constexpr Word<Method> kMethods[] = {{"blocking", Method::blocking}, {"async", Method::async},
                                     {"batch", Method::batch},       {"graph", Method::graph},
                                     {"kernel", Method::kernel},     {"window", Method::window}};
constexpr Word<measure::LoopClock> kClocks[] = {{"host", measure::LoopClock::host},
                                                {"device", measure::LoopClock::device}};

/// The buffers and the windows of one session's small copies.
class SmallCopies {
public:
  SmallCopies(const isthmus::Context& context, std::optional<int> numa_node)
      : context_(context), numa_node_(numa_node) {}

  std::vector<std::string> take_notices() {
    return windows_ ? windows_->take_notices() : std::vector<std::string>{};
  }

  Measurement measure(const SharedKernels* kernels, const std::string& direction,
                      const std::string& method, const std::string& host_memory,
                      std::size_t size_bytes, bool cold, const Stopping& stopping) {
    measure::LatencyOptions options;
    options.direction = value_of(kDirections, direction, "direction");
    options.method = value_of(kMethods, method, "method");
    options.size_bytes = size_bytes;
    options.stopping = stopping;
    options.cold = cold;
    if (options.method == Method::window && !windows_) windows_.emplace(context_.driver());
    options.windows = windows_ ? &*windows_ : nullptr;
    CopyBuffers& buffers =
        buffers_of(value_of(kHostMemory, host_memory, "host memory"), size_bytes);
    Measurement found = measure::measure_latency(buffers, kernels_of(kernels), options);
    found.host_pages_by_node = buffers.host_pages_by_node();
    return found;
  }

  Measurement kernel_then_copy(const SharedKernels* kernels, const std::string& clock,
                               std::size_t size_bytes, std::size_t num_iterations,
                               const Stopping& stopping) {
    return measure::measure_kernel_then_copy(context_, kernels_of(kernels),
                                             value_of(kClocks, clock, "clock"),
                                             {size_bytes, num_iterations, numa_node_, stopping});
  }
  Measurement copy_kernel_copy(const SharedKernels* kernels, std::size_t size_bytes,
                               std::size_t num_iterations, const Stopping& stopping) {
    return measure::measure_copy_kernel_copy(context_, kernels_of(kernels),
                                             {size_bytes, num_iterations, numa_node_, stopping});
  }

private:
  CopyBuffers& buffers_of(HostMemory memory, std::size_t size_bytes) {
    const auto found = buffers_.find(memory);
    if (found != buffers_.end() && found->second.size_bytes() >= size_bytes) return found->second;
    buffers_.erase(memory);
    const std::size_t own_piece = std::max(size_bytes, measure::kOwnPieceBytes);
    return buffers_.try_emplace(memory, context_, memory, own_piece, numa_node_).first->second;
  }

  isthmus::Context context_;
  std::optional<int> numa_node_;
  std::optional<isthmus::Windows> windows_;  ///< created when the first copy needs them
  std::map<HostMemory, CopyBuffers> buffers_;
};

using SharedCopies = Unlocked<SmallCopies>;

/// Binds a member of SmallCopies as a method of its owner.
template <typename Result, typename... Arguments>
auto of_copies(Result (SmallCopies::*member)(Arguments...)) {
  return [member](SharedCopies& copies, Arguments... arguments) {
    return ((*copies).*member)(std::forward<Arguments>(arguments)...);
  };
}

}  // namespace

void bind_measure_latency(nb::module_& m) {
  nb::class_<SharedCopies>(m, "SmallCopyBench", "The small copies of one measuring session.")
      .def(
          "__init__",
          [](SharedCopies* self, const SharedContext& context, std::optional<int> numa_node) {
            new (self) SharedCopies(SmallCopies(*context, numa_node));
          },
          "context"_a, nb::kw_only(), "numa_node"_a.none(), Release())
      .def("measure", of_copies(&SmallCopies::measure), "kernels"_a.none(), nb::kw_only(),
           "direction"_a, "method"_a, "host_memory"_a, "size_bytes"_a, "cold"_a, "stopping"_a,
           Release(), "Sample the latencies of one copy.")
      .def("take_notices", of_copies(&SmallCopies::take_notices), Release(),
           "What the user should be told once about windows, such as an untested driver; empties "
           "the list.")
      .def("measure_kernel_then_copy", of_copies(&SmallCopies::kernel_then_copy),
           "kernels"_a.none(), nb::kw_only(), "clock"_a, "size_bytes"_a, "num_iterations"_a,
           "stopping"_a, Release(),
           "Run a kernel and a download repeatedly, blocking and async: one sample per run.")
      .def("measure_copy_kernel_copy", of_copies(&SmallCopies::copy_kernel_copy),
           "kernels"_a.none(), nb::kw_only(), "size_bytes"_a, "num_iterations"_a, "stopping"_a,
           Release(), "Run upload, light kernel and download repeatedly: one sample per run.");
}

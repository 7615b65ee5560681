// The measuring loops through windows. Each releases the GIL while it runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/latency/kernel_push.hpp"
#include "measure/window/window_bandwidth.hpp"
#include "measure/window/window_copies.hpp"
#include "measure/window/window_lifecycle.hpp"
#include "measure/window/window_ping_pong.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using measure::Measurement;
using measure::Residence;
using measure::Stopping;

namespace {

constexpr Word<Residence> kResidences[] = {{"device", Residence::device},
                                           {"pinned", Residence::pinned}};

/// The windows of one measuring session, opened on demand.
class WindowBench {
public:
  explicit WindowBench(const isthmus::Context& context)
      : context_(context), windows_(context.driver()) {}

  std::pair<std::string, std::string> describe() {
    const isthmus::CurrentContext current(context_);
    const isthmus::DeviceBuffer buffer(context_, 4096);
    const isthmus::Window window = windows_.open(buffer.pointer(), buffer.size_bytes());
    return {std::string(isthmus::name_of(window.backend())), std::string(window.instructions())};
  }
  std::vector<std::string> take_notices() { return windows_.take_notices(); }

  Measurement write(std::size_t size_bytes, bool cold, int num_threads,
                    std::optional<int> numa_node, const Stopping& stopping) {
    return measure::measure_window_write(context_, windows_,
                                         {size_bytes, cold, {num_threads, numa_node}, stopping});
  }
  Measurement read(std::size_t size_bytes, bool cold, int num_threads, std::optional<int> numa_node,
                   const Stopping& stopping) {
    return measure::measure_window_read(context_, windows_,
                                        {size_bytes, cold, {num_threads, numa_node}, stopping});
  }
  Measurement bandwidth(const std::string& direction, std::size_t size_bytes, int num_threads,
                        std::optional<int> numa_node, const std::vector<int>& cpus,
                        const Stopping& stopping) {
    measure::WindowBandwidthOptions options;
    options.direction = value_of(kDirections, direction, "direction");
    options.size_bytes = size_bytes;
    options.place = {num_threads, numa_node};
    options.cpus = cpus;
    options.stopping = stopping;
    return measure::measure_window_bandwidth(context_, options);
  }
  Measurement lifecycle(std::size_t size_bytes, const Stopping& stopping) {
    return measure::measure_window_lifecycle(context_, {size_bytes, stopping});
  }
  Measurement ping_pong(const SharedKernels* kernels, const std::string& question,
                        const std::string& answer, const std::optional<std::string>& data,
                        std::size_t data_bytes, const Stopping& stopping) {
    measure::PingPongOptions options;
    options.question = value_of(kResidences, question, "place of a flag");
    options.answer = value_of(kResidences, answer, "place of a flag");
    if (data) options.data = value_of(kResidences, *data, "place of data");
    options.data_bytes = data_bytes;
    options.stopping = stopping;
    return measure::measure_window_ping_pong(context_, windows_, kernels_of(kernels), options);
  }
  Measurement push(const SharedKernels* kernels, std::size_t size_bytes, const Stopping& stopping) {
    measure::KernelPushOptions options;
    options.size_bytes = size_bytes;
    options.stopping = stopping;
    return measure::measure_kernel_push(context_, windows_, kernels_of(kernels), options);
  }

private:
  isthmus::Context context_;
  isthmus::Windows windows_;
};

using SharedBench = Unlocked<WindowBench>;

/// Binds a member of WindowBench as a method of its owner.
template <typename Result, typename... Arguments>
auto of_bench(Result (WindowBench::*member)(Arguments...)) {
  return [member](SharedBench& bench, Arguments... arguments) {
    return ((*bench).*member)(std::forward<Arguments>(arguments)...);
  };
}

void bind_measurements(nb::class_<SharedBench>& bench) {
  bench
      .def("measure_write", of_bench(&WindowBench::write), nb::kw_only(), "size_bytes"_a, "cold"_a,
           "num_threads"_a, "numa_node"_a.none(), "stopping"_a, Release(),
           "Sample writes of one size, and cudaMemcpy for comparison.")
      .def("measure_read", of_bench(&WindowBench::read), nb::kw_only(), "size_bytes"_a, "cold"_a,
           "num_threads"_a, "numa_node"_a.none(), "stopping"_a, Release(),
           "Sample reads of one size, and cudaMemcpy for comparison.")
      .def("measure_bandwidth", of_bench(&WindowBench::bandwidth), nb::kw_only(), "direction"_a,
           "size_bytes"_a, "num_threads"_a, "numa_node"_a.none(), "cpus"_a, "stopping"_a, Release(),
           "Sample the time of one copy (metric \"copy_time\").")
      .def("measure_lifecycle", of_bench(&WindowBench::lifecycle), nb::kw_only(), "size_bytes"_a,
           "stopping"_a, Release(), "Sample opening, first use and closing.")
      .def("measure_ping_pong", of_bench(&WindowBench::ping_pong), "kernels"_a.none(),
           nb::kw_only(), "question"_a, "answer"_a, "data"_a.none(), "data_bytes"_a, "stopping"_a,
           Release(), "Sample round trips (metric \"round_trip\") to a running kernel.")
      .def("measure_push", of_bench(&WindowBench::push), "kernels"_a.none(), nb::kw_only(),
           "size_bytes"_a, "stopping"_a, Release(),
           "Sample a kernel that stores into pinned host memory.");
}

}  // namespace

void bind_measure_window(nb::module_& m) {
  nb::class_<SharedBench> bench(m, "WindowBench", "The windows of one measuring session.");
  bench
      .def(
          "__init__",
          [](SharedBench* self, const SharedContext& context) {
            new (self) SharedBench(WindowBench(*context));
          },
          "context"_a, Release())
      .def("describe", of_bench(&WindowBench::describe), Release(),
           "The backend and the instructions that windows use here; Unavailable if there are none.")
      .def("take_notices", of_bench(&WindowBench::take_notices),
           "What the user should be told once, such as an untested driver; empties the list.");
  bind_measurements(bench);
}

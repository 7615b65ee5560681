// The fault sweep over other ways to copy: several streams behind one gate, batches, graphs,
// pipelines. A failure in the middle leaves streams held and copies in flight.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "emulator_controls.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/bandwidth/many_copies.hpp"
#include "measure/bandwidth/overlap.hpp"
#include "measure/bandwidth/shaped_copies.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kShort{.min_samples = 1, .max_samples = 1, .max_seconds = 0};
constexpr int kIllegalAddress = 700;
constexpr std::size_t kBytes = 4096;

struct Request {
  const char* name;
  std::function<void(CopyBuffers&, const Kernels&)> run;
};

std::ostream& operator<<(std::ostream& out, const Request& request) { return out << request.name; }

Request many(const char* name, ManyCopiesWay way) {
  return {name, [way](CopyBuffers& buffers, const Kernels& kernels) {
            measure_many_copies(buffers, &kernels, {Direction::host_to_device, way, 64, 8, kShort});
          }};
}

Request shaped(const char* name, BoxLayout layout, const BoxShape& shape) {
  return {name, [layout, shape](CopyBuffers& buffers, const Kernels& kernels) {
            measure_shaped_copies(buffers, &kernels,
                                  {Direction::host_to_device, layout, shape, kShort});
          }};
}

std::vector<Request> requests() {
  return {
      {"under_load",
       [](CopyBuffers& buffers, const Kernels& kernels) {
         CopyBuffers load(buffers.context(), HostMemory::pinned, kBytes, std::nullopt);
         try {
           measure_under_load(buffers, load, &kernels, Direction::host_to_device, {kBytes, kShort});
         } catch (const Unavailable&) {
           // Copies of a page are complete so soon that the other direction may be late.
         }
       }},
      {"duplex",
       [](CopyBuffers& buffers, const Kernels& kernels) {
         CopyBuffers down(buffers.context(), HostMemory::pinned, kBytes, std::nullopt);
         measure_duplex(buffers, down, &kernels, {kBytes, kShort});
       }},
      {"streams",
       [](CopyBuffers& buffers, const Kernels& kernels) {
         measure_stream_copies(buffers, &kernels, {Direction::device_to_host, kBytes, 3, kShort});
       }},
      shaped("pitched", BoxLayout::pitched, {64, 8, std::nullopt}),
      shaped("pitched_3d", BoxLayout::pitched, {64, 4, 2}),
      shaped("array", BoxLayout::array, {64, 8, std::nullopt}),
      shaped("array_3d", BoxLayout::array, {64, 4, 2}),
      {"overlap",
       [](CopyBuffers& buffers, const Kernels& kernels) {
         measure_overlap(buffers, &kernels, {PipelineCopies::duplex, kBytes, 4, 2, kShort});
       }},
      many("loop", ManyCopiesWay::loop),
      many("batch", ManyCopiesWay::batch),
      many("graph", ManyCopiesWay::graph),
      many("kernel", ManyCopiesWay::kernel),
      many("packed", ManyCopiesWay::packed),
  };
}

/// Calls in destructors can't throw.
bool throws(const std::string& symbol) {
  static const std::set<std::string> quiet{
      "cuStreamDestroy",    "cuEventDestroy",  "cuMemFree",        "cuMemFreeHost",
      "cuModuleUnload",     "cuCtxPopCurrent", "cuArrayDestroy",   "cuGraphDestroy",
      "cuGraphExecDestroy", "cuGetErrorName",  "cuGetErrorString", "cuDevicePrimaryCtxRelease"};
  return !quiet.contains(symbol);
}

class RequestSweep : public testing::TestWithParam<Request> {
protected:
  void TearDown() override { controls_.reset(); }

  void run(const Kernels& kernels) {
    CopyBuffers buffers(test::context(), HostMemory::pinned, kBytes, std::nullopt);
    GetParam().run(buffers, kernels);
  }

  std::map<std::string, int> calls(const Kernels& kernels) {
    controls_.log_calls(1);
    run(kernels);
    controls_.log_calls(0);
    return test::counts_of_calls(controls_.call_log());
  }

  test::EmulatorControls controls_{test::driver()};
};

TEST_P(RequestSweep, AnyFailingCallIsReportedWithItsCodeAndLeaksNothing) {
  const Context context = test::context();
  const Kernels kernels(context, {});
  const auto counts = calls(kernels);  // also loads every module
  const IsthmusEmulatorLive before = controls_.live();
  int num_thrown = 0;
  for (const auto& [symbol, count] : counts) {
    if (!throws(symbol)) continue;
    for (const int nth : std::set<int>{1, 2, 3, count / 2, count}) {
      if (nth < 1 || nth > count) continue;
      SCOPED_TRACE(symbol + " call " + std::to_string(nth) + " of " + std::to_string(count));
      controls_.fail_call(symbol.c_str(), nth, kIllegalAddress);
      try {
        run(kernels);
      } catch (const DriverError& error) {
        EXPECT_EQ(error.code(), kIllegalAddress);
        ++num_thrown;
      }
      controls_.reset();
      EXPECT_EQ(controls_.live(), before);
    }
  }
  EXPECT_GT(num_thrown, 10);
  EXPECT_NO_THROW(run(kernels)) << "nothing may stay broken";
}

INSTANTIATE_TEST_SUITE_P(Requests, RequestSweep, testing::ValuesIn(requests()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace isthmus::measure

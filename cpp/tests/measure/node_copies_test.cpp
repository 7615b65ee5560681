// Copies with thread and memory on one NUMA node, on this machine's own nodes.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

NodeCopyOptions on_node(int node, std::vector<int> cpus) {
  NodeCopyOptions options;
  options.place = {node, std::move(cpus)};
  options.num_nodes = host::numa_nodes().size();
  options.copy.direction = Direction::host_to_device;
  options.copy.size_bytes = 1 << 20;
  options.copy.stopping = {.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};
  return options;
}

TEST(NodeCopies, RunOnEachNodeAndLeaveTheThreadAsItWas) {
  const std::vector<int> before = host::allowed_cpus();
  for (const host::NumaNode& node : host::numa_nodes()) {
    if (node.cpus.empty()) continue;
    const Measurement measurement =
        measure_node_bandwidth(test::context(), &test::kernels(), on_node(node.id, {before[0]}));
    EXPECT_EQ(measurement.samples.at(0).metric, "copy_time");
    EXPECT_EQ(host::allowed_cpus(), before);
  }
}

TEST(NodeCopies, WithoutACpuOfTheNodeAreWaivedWithTheReason) {
  for (const std::vector<int>& cpus : {std::vector<int>{}, std::vector<int>{100000}}) {
    EXPECT_THROW(measure_node_bandwidth(test::context(), nullptr, on_node(0, cpus)), Unavailable);
  }
}

TEST(NodeCopies, OfMissingNodesAreRefused) {
  const std::vector<int> cpus{host::allowed_cpus()[0]};
  EXPECT_THROW(measure_node_bandwidth(test::context(), nullptr, on_node(999, cpus)), UsageError);
}

TEST(NodeCopies, ThatNeverHappenedAreNoticed) {
  if (!test::driver().emulated()) GTEST_SKIP() << "needs the emulator's controls";
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls("cuMemcpyHtoDAsync");
  const std::vector<int> cpus{host::allowed_cpus()[0]};
  EXPECT_THROW(measure_node_bandwidth(test::context(), &test::kernels(),
                                      on_node(host::numa_nodes().front().id, cpus)),
               CorruptTransfer);
  controls.reset();
}

TEST(NodeCopies, AreNotTakenForANodesWhenTheirPagesLieElsewhere) {
  EXPECT_NO_THROW(require_pages_on(1, {{1, 96}, {0, 4}}, 2));
  EXPECT_THROW(require_pages_on(1, {{1, 90}, {0, 10}}, 2), Unavailable);
  EXPECT_THROW(require_pages_on(1, {{0, 100}}, 2), Unavailable);
}

TEST(NodeCopies, NeedToKnowWherePagesLieOnlyWhereThereIsAChoice) {
  EXPECT_THROW(require_pages_on(0, {}, 2), Unavailable);
  EXPECT_NO_THROW(require_pages_on(0, {}, 1));
}

}  // namespace
}  // namespace isthmus::measure

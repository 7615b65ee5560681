// Batches of copies and graphs of copies.
#include <cstring>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class ManyCopies : public MachineUnderTest {
protected:
  void SetUp() override {
    MachineUnderTest::SetUp();
    if (IsSkipped()) return;
    device_ = device_memory(kBytes);
    host_ = pinned_memory(kBytes);
  }

  CUdeviceptr host_address(std::size_t offset = 0) const {
    return reinterpret_cast<CUdeviceptr>(host_ + offset);
  }
  void put_on_host(const Bytes& bytes) { std::memcpy(host_, bytes.data(), bytes.size()); }
  Bytes on_host() const { return Bytes(host_, host_ + kBytes); }

  static constexpr std::size_t kBytes = 4 * kKiB;
  CUdeviceptr device_ = 0;
  std::uint8_t* host_ = nullptr;
};

class Batch : public ManyCopies {
protected:
  void SetUp() override {
    ManyCopies::SetUp();
    if (!IsSkipped() && !driver().has(symbol::memcpy_batch_async))
      GTEST_SKIP() << "a driver older than CUDA 12.8";
  }

  CUresult copy(std::vector<CUdeviceptr> targets, std::vector<CUdeviceptr> sources,
                std::vector<std::size_t> sizes, CUstream stream, std::size_t num_attributes = 1) {
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    std::size_t first = 0;
    std::size_t failed = 0;
    return driver().raw(symbol::memcpy_batch_async)(targets.data(), sources.data(), sizes.data(),
                                                    sizes.size(), &attributes, &first,
                                                    num_attributes, &failed, stream);
  }
};

TEST_F(Batch, BringsEveryCopyWhereItBelongs) {
  const Bytes bytes = pattern(kBytes, 1);
  put_on_host(bytes);
  const CUstream used = stream();
  const std::size_t half = kBytes / 2;
  EXPECT_EQ(
      copy({device_ + half, device_}, {host_address(), host_address(half)}, {half, half}, used),
      CUDA_SUCCESS);
  synchronize(used);
  Bytes swapped(bytes.begin() + half, bytes.end());
  swapped.insert(swapped.end(), bytes.begin(), bytes.begin() + half);
  EXPECT_EQ(on_device(device_, kBytes), swapped);
}

TEST_F(Batch, RunsInStreamOrder) {
  const Bytes bytes = pattern(kBytes, 2);
  send_to_device(device_, bytes);
  const CUstream used = stream();
  Gate held = gate();
  held.hold(used);
  EXPECT_EQ(copy({host_address()}, {device_}, {kBytes}, used), CUDA_SUCCESS);
  EXPECT_NE(on_host(), bytes);
  held.open();
  synchronize(used);
  EXPECT_EQ(on_host(), bytes);
}

TEST_F(Batch, OnTheLegacyStreamIsRefused) {
  EXPECT_EQ(copy({device_}, {host_address()}, {kBytes}, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Batch, WithoutAttributesIsRefused) {
  EXPECT_EQ(copy({device_}, {host_address()}, {kBytes}, stream(), 0), CUDA_ERROR_INVALID_VALUE);
}

class GraphOfCopies : public ManyCopies {
protected:
  CUgraph graph() {
    CUgraph made = nullptr;
    driver().call(symbol::graph_create)(&made, 0U);
    at_end([=] { return driver().raw(symbol::graph_destroy)(made); });
    return made;
  }
  CUgraphNode add_download(CUgraph graph, std::size_t offset, std::size_t size_bytes,
                           std::vector<CUgraphNode> after = {}) {
    CUDA_MEMCPY3D parameters{};
    parameters.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    parameters.srcDevice = device_ + offset;
    parameters.dstMemoryType = CU_MEMORYTYPE_HOST;
    parameters.dstHost = host_ + offset;
    parameters.WidthInBytes = size_bytes;
    parameters.Height = 1;
    parameters.Depth = 1;
    CUgraphNode node = nullptr;
    driver().call(symbol::graph_add_memcpy_node)(
        &node, graph, after.empty() ? nullptr : after.data(), after.size(), &parameters, context());
    return node;
  }
  CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec made = nullptr;
    driver().call(symbol::graph_instantiate)(&made, graph, 0ULL);
    at_end([=] { return driver().raw(symbol::graph_exec_destroy)(made); });
    return made;
  }
};

TEST_F(GraphOfCopies, CopiesAnewEachTimeItIsLaunched) {
  const CUgraph made = graph();
  const CUgraphNode first = add_download(made, 0, kKiB);
  add_download(made, kKiB, kBytes - kKiB, {first});
  const CUgraphExec executable = instantiate(made);
  const CUstream used = stream();
  for (const unsigned seed : {1U, 2U}) {
    const Bytes bytes = pattern(kBytes, seed);
    send_to_device(device_, bytes);
    driver().call(symbol::graph_launch)(executable, used);
    synchronize(used);
    EXPECT_EQ(on_host(), bytes);
  }
}

TEST_F(GraphOfCopies, IsLaunchedInStreamOrder) {
  const Bytes bytes = pattern(kBytes, 3);
  send_to_device(device_, bytes);
  const CUgraph made = graph();
  add_download(made, 0, kBytes);
  const CUgraphExec executable = instantiate(made);
  const CUstream used = stream();
  Gate held = gate();
  held.hold(used);
  driver().call(symbol::graph_launch)(executable, used);
  EXPECT_NE(on_host(), bytes);
  held.open();
  synchronize(used);
  EXPECT_EQ(on_host(), bytes);
}

TEST_F(GraphOfCopies, CanBeDestroyedWhileItsExecutableIsStillUsed) {
  CUgraph made = nullptr;
  driver().call(symbol::graph_create)(&made, 0U);
  add_download(made, 0, kBytes);
  const CUgraphExec executable = instantiate(made);
  driver().call(symbol::graph_destroy)(made);
  const Bytes bytes = pattern(kBytes, 4);
  send_to_device(device_, bytes);
  const CUstream used = stream();
  driver().call(symbol::graph_launch)(executable, used);
  synchronize(used);
  EXPECT_EQ(on_host(), bytes);
}

}  // namespace
}  // namespace isthmus::contract

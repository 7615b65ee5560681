// Transfers on the driver that ISTHMUS_DRIVER names, with the default costs of its link.
#pragma once

#include <cstdlib>
#include <optional>

#include <isthmus/transfer.hpp>

#include "transfer/copy/engine.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/profile_text.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {

/// Begins to capture a stream in the mode that frameworks use, which forbids unsafe calls to all
/// threads.
class GlobalCapture {
public:
  GlobalCapture(const Driver& driver, CUstream captured) : driver_(driver), captured_(captured) {
    driver_.call(symbol::stream_begin_capture)(captured_, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
  CUresult end() {
    CUgraph graph = nullptr;
    const CUresult result = driver_.raw(symbol::stream_end_capture)(captured_, &graph);
    if (graph != nullptr) driver_.call(symbol::graph_destroy)(graph);
    return result;
  }

private:
  const Driver& driver_;
  CUstream captured_;
};

/// A test with a current context and its own Transfers, which are destroyed before the context.
class TransfersUnderTest : public StagingUnderTest {
protected:
  void SetUp() override {
    setenv("ISTHMUS_PROFILE", "off", 1);  // NOLINT(concurrency-mt-unsafe)
    StagingUnderTest::SetUp();
    if (!IsSkipped()) transfers_.emplace(driver());
  }
  void TearDown() override {
    transfers_.reset();
    StagingUnderTest::TearDown();
  }

  Transfers& transfers() { return *transfers_; }
  void drop_transfers() { transfers_.reset(); }
  void make_transfers(const RingSettings& ring = {}) {
    transfers_.emplace(transfers_with_ring(Windows(driver()), ring));
  }

  void upload(CUdeviceptr target, const Bytes& source, const CopyOptions& options = {}) {
    transfers().copy(to_pointer(target), source.data(), source.size(), options);
  }
  Bytes download(CUdeviceptr source, std::size_t size_bytes, const CopyOptions& options = {}) {
    Bytes bytes(size_bytes, kGuard);
    transfers().copy(bytes.data(), to_pointer(source), size_bytes, options);
    return bytes;
  }
  /// A profile that stages long copies of pageable memory in one direction, with any number of
  /// cores.
  void prefer_the_ring(Direction direction = Direction::host_to_device) {
    std::string text = test::profile_text();
    if (direction == Direction::device_to_host)
      text = test::replaced(text, R"("staged", "direction": "h2d")",
                            R"("staged", "direction": "d2h")");
    use_as_if_measured_here(std::move(text));
  }
  /// Uses a profile of test::h100().
  void use_as_if_measured_here(std::string text) {
    using test::replaced;
    const ProfileIdentity here = identity_of(retained().device(), 2, driver().emulated());
    const ProfileIdentity there = test::h100();
    text = replaced(text, there.gpu_uuid, here.gpu_uuid);
    text = replaced(text, there.gpu_name, here.gpu_name);
    text = replaced(text, there.link.name(), here.link.name());
    text = replaced(text, there.driver_release, here.driver_release);
    text = replaced(text, "13000", std::to_string(here.cuda_version));
    text = replaced(text, "\"num_cores\": 16", "\"num_cores\": 1");  // surely fewer than here
    if (here.emulated) text = replaced(text, "\"emulated\": false", "\"emulated\": true");
    transfers().use_profile(text);
  }
  PathUse use_of(CopyPath path) {
    for (const PathUse& use : transfers().stats())
      if (use.path == path) return use;
    return {};
  }
  std::uint64_t num_copies(CopyPath path) { return use_of(path).num_copies; }

  static void* to_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
  static CopyOptions by(std::string_view path) {
    CopyOptions options;
    options.path = path;
    return options;
  }
  static CopyOptions in(CUstream stream) {
    CopyOptions options;
    options.stream = reinterpret_cast<std::uintptr_t>(stream);
    return options;
  }

private:
  std::optional<Transfers> transfers_;
};

}  // namespace isthmus::transfer

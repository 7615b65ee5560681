// Which calls are allowed while a stream is captured, which end the capture, and what its graph
// does.
#include <algorithm>
#include <functional>
#include <vector>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class BesideACapture : public MachineUnderTest {
protected:
  void begin(CUstream captured) {
    driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }
  CUresult end(CUstream captured) {
    CUgraph graph = nullptr;
    const CUresult result = driver().raw(symbol::stream_end_capture)(captured, &graph);
    if (graph != nullptr) driver().call(symbol::graph_destroy)(graph);
    return result;
  }
  CUstreamCaptureStatus status_of(CUstream asked) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    driver().call(symbol::stream_is_capturing)(asked, &status);
    return status;
  }
  unsigned long long id_of(CUstream asked) {
    unsigned long long id = 0;
    driver().call(symbol::stream_get_id)(asked, &id);
    return id;
  }
  /// Runs `action` with this thread's calls relaxed.
  template <typename Action>
  CUresult relaxed(Action action) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver().call(symbol::thread_exchange_stream_capture_mode)(&mode);
    const CUresult result = action();
    driver().call(symbol::thread_exchange_stream_capture_mode)(&mode);
    return result;
  }
};

TEST_F(BesideACapture, ItsStreamAloneIsSeenAsCaptured) {
  const CUstream captured = stream();
  const CUstream other = stream();
  begin(captured);
  EXPECT_EQ(status_of(captured), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(end(captured), CUDA_SUCCESS);
  EXPECT_EQ(status_of(captured), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(BesideACapture, AnEventQueryOfAThreadThatIsNotRelaxedEndsIt) {
  const CUevent marked = event();
  const CUstream captured = stream();
  begin(captured);
  EXPECT_EQ(driver().raw(symbol::event_query)(marked), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(BesideACapture, ARelaxedThreadMayUseEventsAndWaitForThem) {
  const CUstream captured = stream();
  const CUstream other = stream();
  begin(captured);
  const CUevent marked = event();
  EXPECT_EQ(relaxed([&] { return driver().raw(symbol::event_record)(marked, other); }),
            CUDA_SUCCESS);
  EXPECT_EQ(relaxed([&] { return driver().raw(symbol::event_synchronize)(marked); }), CUDA_SUCCESS);
  EXPECT_EQ(relaxed([&] { return driver().raw(symbol::event_query)(marked); }), CUDA_SUCCESS);
  EXPECT_EQ(end(captured), CUDA_SUCCESS);
}

TEST_F(BesideACapture, ARelaxedThreadMayRegisterAndUnregisterMemory) {
  std::vector<std::uint8_t> host(kMiB);
  const CUstream captured = stream();
  begin(captured);
  EXPECT_EQ(relaxed([&] {
              return driver().raw(symbol::mem_host_register)(host.data(), host.size(), 0u);
            }),
            CUDA_SUCCESS);
  EXPECT_EQ(relaxed([&] { return driver().raw(symbol::mem_host_unregister)(host.data()); }),
            CUDA_SUCCESS);
  EXPECT_EQ(end(captured), CUDA_SUCCESS);
}

TEST_F(BesideACapture, EveryQuestionOfAThreadThatIsNotRelaxedEndsIt) {
  const CUstream other = stream();
  const CUevent marked = event();
  const std::vector<std::function<CUresult()>> questions{
      [&] { return driver().raw(symbol::stream_synchronize)(other); },
      [&] { return driver().raw(symbol::stream_query)(other); },
      [&] { return driver().raw(symbol::event_synchronize)(marked); },
      [&] { return driver().raw(symbol::event_query)(marked); }};
  for (const auto& question : questions) {
    const CUstream captured = stream();
    begin(captured);
    EXPECT_EQ(question(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(captured);
    EXPECT_EQ(relaxed(question), CUDA_SUCCESS);
    EXPECT_EQ(end(captured), CUDA_SUCCESS);
  }
}

TEST_F(BesideACapture, NoThreadWaitsForTheWholeContext) {
  const CUstream captured = stream();
  begin(captured);
  EXPECT_EQ(relaxed([&] { return driver().raw(symbol::ctx_synchronize)(); }),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end(captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(BesideACapture, OfANonBlockingStreamTheDefaultStreamIsFree) {
  const CUdeviceptr device = device_memory(kMiB);
  const std::vector<std::uint8_t> host(kMiB, 1);
  const CUstream captured = stream();
  begin(captured);
  EXPECT_EQ(status_of(nullptr), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(driver().raw(symbol::memcpy_htod)(device, host.data(), host.size()), CUDA_SUCCESS);
  EXPECT_EQ(relaxed([&] { return driver().raw(symbol::stream_synchronize)(nullptr); }),
            CUDA_SUCCESS);
  EXPECT_EQ(end(captured), CUDA_SUCCESS);
}

TEST_F(BesideACapture, OfABlockingStreamWhateverUsesTheDefaultStreamEndsIt) {
  const CUdeviceptr device = device_memory(kMiB);
  const std::vector<std::uint8_t> host(kMiB, 1);
  const CUstream captured = stream(CU_STREAM_DEFAULT);
  begin(captured);
  EXPECT_EQ(driver().raw(symbol::memcpy_htod)(device, host.data(), host.size()),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(end(captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(BesideACapture, OfABlockingStreamTheDefaultStreamCannotSay) {
  const CUstream captured = stream(CU_STREAM_DEFAULT);
  begin(captured);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(driver().raw(symbol::stream_is_capturing)(nullptr, &status),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(end(captured), CUDA_SUCCESS) << "asking must not end it";
}

class CapturedCopies : public BesideACapture {
protected:
  /// Ends a capture, and instantiates its graph.
  CUgraphExec launchable(CUstream captured) {
    CUgraph graph = nullptr;
    driver().call(symbol::stream_end_capture)(captured, &graph);
    at_end([=] { return driver().raw(symbol::graph_destroy)(graph); });
    CUgraphExec made = nullptr;
    driver().call(symbol::graph_instantiate)(&made, graph, 0ull);
    at_end([=] { return driver().raw(symbol::graph_exec_destroy)(made); });
    return made;
  }
};

TEST_F(CapturedCopies, AreMadeByEachLaunchOfTheirGraphAndNotBefore) {
  const CUdeviceptr first = device_memory(kMiB);
  const CUdeviceptr second = device_memory(kMiB);
  std::uint8_t* source = pinned_memory(kMiB);
  std::uint8_t* target = pinned_memory(kMiB);
  const CUstream captured = stream();
  begin(captured);
  driver().call(symbol::memcpy_htod_async)(first, source, kMiB, captured);
  driver().call(symbol::memcpy_dtod_async)(second, first, kMiB, captured);
  driver().call(symbol::memcpy_dtoh_async)(target, second, kMiB, captured);
  std::fill_n(source, kMiB, std::uint8_t{9});
  const CUgraphExec graph = launchable(captured);
  synchronize(captured);
  EXPECT_EQ(std::count(target, target + kMiB, 0), kMiB) << "recorded, not made";
  for (const std::uint8_t value : {std::uint8_t{5}, std::uint8_t{6}}) {
    std::fill_n(source, kMiB, value);
    driver().call(symbol::graph_launch)(graph, captured);
    synchronize(captured);
    EXPECT_EQ(std::count(target, target + kMiB, value), kMiB);
  }
}

using StreamIds = BesideACapture;

TEST_F(StreamIds, AreNeverUsedAgain) {
  CUstream first = nullptr;
  driver().call(symbol::stream_create)(&first, unsigned{CU_STREAM_NON_BLOCKING});
  const unsigned long long first_id = id_of(first);
  driver().call(symbol::stream_destroy)(first);
  for (int i = 0; i < 8; ++i) EXPECT_NE(id_of(stream()), first_id);
  EXPECT_EQ(id_of(nullptr), id_of(CU_STREAM_LEGACY));
}

TEST_F(StreamIds, AreRefusedOfACapturedStreamWhichEndsItsCapture) {
  const CUstream captured = stream();
  driver().call(symbol::stream_begin_capture)(captured, CU_STREAM_CAPTURE_MODE_RELAXED);
  unsigned long long id = 0;
  EXPECT_EQ(driver().raw(symbol::stream_get_id)(captured, &id),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().raw(symbol::stream_end_capture)(captured, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace isthmus::contract

#include "troubles.hpp"

#include <array>
#include <chrono>

#include <signal.h>

namespace isthmus::stress {
namespace {

using std::chrono::microseconds;

// Not the waiting calls: if none of them succeeds twice in a row, memory stays in use forever.
constexpr std::array kCalls{"cuMemcpyHtoDAsync",    "cuMemcpyDtoHAsync", "cuMemcpyHtoD",
                            "cuMemcpyDtoH",         "cuEventRecord",     "cuEventQuery",
                            "cuStreamQuery",        "cuMemHostRegister", "cuEventCreate",
                            "cuStreamWriteValue32", "cuStreamWaitEvent", "cuPointerGetAttributes"};
constexpr std::array kCodes{CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_OUT_OF_MEMORY,
                            CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_UNKNOWN};

}  // namespace

void capture_until_the_end(Workplace& place) {
  const Driver& driver = place.context.driver();
  const CurrentContext current(place.context);
  const Stream captured(place.context);
  while (!place.ending) {
    driver.call(symbol::stream_begin_capture)(captured.handle(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    std::this_thread::sleep_for(microseconds(300));
    CUgraph graph = nullptr;
    const CUresult result = driver.raw(symbol::stream_end_capture)(captured.handle(), &graph);
    if (graph != nullptr) driver.call(symbol::graph_destroy)(graph);
    if (result != CUDA_SUCCESS) place.tally.fail("a capture was ended: " + driver.name_of(result));
    place.tally.count("capture");
  }
}

void fail_calls_until_the_end(Workplace& place, std::uint64_t seed) {
  const test::EmulatorControls emulator(place.context.driver());
  Dice dice(seed);
  while (!place.ending) {
    std::this_thread::sleep_for(microseconds(10'000));
    const char* const symbol = kCalls[dice.below(kCalls.size())];
    emulator.fail_call(symbol, static_cast<int>(1 + dice.below(20)),
                       kCodes[dice.below(kCodes.size())]);
    place.tally.count("call made to fail");
  }
  emulator.reset();
}

void signal_until_the_end(Workplace& place, const std::vector<pthread_t>& threads,
                          std::uint64_t seed) {
  struct sigaction action{};
  action.sa_handler = [](int) {};  // no SA_RESTART: calls return EINTR
  sigaction(SIGUSR1, &action, nullptr);
  Dice dice(seed);
  while (!place.ending) {
    std::this_thread::sleep_for(microseconds(500));
    pthread_kill(threads[dice.below(threads.size())], SIGUSR1);
    place.tally.count("signal");
  }
}

}  // namespace isthmus::stress

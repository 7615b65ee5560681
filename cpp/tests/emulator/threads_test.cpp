// Many threads at once; a fork; and functions that only other users of a driver call.
#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

class Threads : public EmulatedMachine {
protected:
  Threads() : context_(enter()) {}

  /// What each thread repeats: every kind of operation, on its own stream.
  void round_trip(unsigned char value) {
    const CUstream work = stream();
    const CUdeviceptr device = device_memory(4096);
    std::byte* host = pinned_memory(4096);
    driver().call(symbol::memset_d8_async)(device, value, std::size_t{4096}, work);
    driver().call(symbol::memcpy_dtoh_async)(host, device, std::size_t{4096}, work);
    const CUevent done = record(work);
    driver().call(symbol::event_synchronize)(done);
    EXPECT_EQ(host[4095], std::byte{value});
    driver().call(symbol::event_destroy)(done);
    driver().call(symbol::mem_free_host)(host);
    driver().call(symbol::mem_free)(device);
    driver().call(symbol::stream_destroy)(work);
  }

  CUcontext context_;
};

TEST_F(Threads, MayAllUseTheDriverAtOnce) {
  constexpr int kNumThreads = 4;
  constexpr int kNumRounds = 25;
  std::vector<std::thread> threads;
  for (int index = 0; index < kNumThreads; ++index) {
    threads.emplace_back([this, index] {
      driver().call(symbol::ctx_push_current)(context_);
      for (int round = 0; round < kNumRounds; ++round) {
        round_trip(static_cast<unsigned char>(index * kNumRounds + round));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Threads, WaitForOneStreamTogether) {
  const CUstream work = stream();
  const CUdeviceptr device = device_memory(kMiB);
  std::byte* host = pinned_memory(kMiB);
  for (int copy = 0; copy < 8; ++copy) {
    driver().call(symbol::memcpy_htod_async)(device, host, kMiB, work);
  }
  std::vector<std::thread> threads;
  std::atomic<int> num_ready{0};
  for (int index = 0; index < 3; ++index) {
    threads.emplace_back([&] {
      driver().call(symbol::ctx_push_current)(context_);
      synchronize(work);
      num_ready += query(work) == CUDA_SUCCESS ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_ready, 3);
}

TEST_F(Threads, OfAForkedChildDoNotHoldUpTheParent) {
  const CUstream work = stream();
  const CUdeviceptr device = device_memory(kMiB);
  std::byte* host = pinned_memory(kMiB);
  driver().call(symbol::memcpy_htod_async)(device, host, kMiB, work);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  driver().call(symbol::memcpy_htod_async)(device, host, kMiB, work);
  synchronize(work);
}

TEST_F(Threads, OfTheEmulatorCallHostFunctionsInStreamOrder) {
  auto* launch_host_function = controls().find<decltype(&cuLaunchHostFunc)>("cuLaunchHostFunc");
  const CUstream work = stream();
  std::vector<int> order;
  struct Step {
    std::vector<int>* order;
    int number;
  };
  Step first{&order, 1};
  Step second{&order, 2};
  const CUhostFn append = [](void* data) {
    const auto* step = static_cast<Step*>(data);
    step->order->push_back(step->number);
  };
  EXPECT_EQ(launch_host_function(work, append, &first), CUDA_SUCCESS);
  EXPECT_EQ(launch_host_function(work, append, &second), CUDA_SUCCESS);
  synchronize(work);
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace isthmus::emulated

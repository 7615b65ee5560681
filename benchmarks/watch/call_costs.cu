// What a call takes, in ns: the same loops in a plain process and in a watched one. nvcc -O2 call_costs.cu -lcuda
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

__global__ void nothing() {}

namespace {

constexpr int kRounds = 15;

/// The least of some rounds: a call's own time, without what disturbs it.
template <typename Call>
double least_ns(int calls, Call call) {
  double least = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count() / calls);
    cuStreamSynchronize(nullptr);
  }
  return least;
}

}  // namespace

int main() {
  cudaFree(nullptr);
  CUdeviceptr there = 0;
  void* pinned = nullptr;
  std::vector<char> pageable(1 << 20);
  cuMemAlloc(&there, pageable.size());
  cuMemHostAlloc(&pinned, pageable.size(), 0);
  nothing<<<1, 1>>>();
  cudaDeviceSynchronize();
  CUfunction function = nullptr;
  cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(nothing));
  const double launch = least_ns(500, [&] {
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  });
  const double up = least_ns(500, [&] { cuMemcpyHtoDAsync(there, pinned, 4, nullptr); });
  const double pageable_up =
      least_ns(500, [&] { cuMemcpyHtoDAsync(there, pageable.data(), 4, nullptr); });
  const double down = least_ns(500, [&] { cuMemcpyDtoHAsync(pinned, there, 4, nullptr); });
  const double wait = least_ns(500, [&] { cuStreamSynchronize(nullptr); });
  const double blocking = least_ns(200, [&] { cuMemcpyDtoH(pageable.data(), there, 4); });
  const double half = least_ns(100, [&] { cuMemcpyHtoD(there, pageable.data(), 32 << 10); });
  std::printf("{\"ns\": {\"launch\": %.1f, \"up\": %.1f, \"pageable_up\": %.1f, \"down\": %.1f, \"wait\": %.1f, "
              "\"blocking_down\": %.1f, \"pageable_up_32KiB\": %.1f}}\n",
              launch, up, pageable_up, down, wait, blocking, half);
}

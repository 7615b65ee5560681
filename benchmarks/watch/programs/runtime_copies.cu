// Copies 512 MiB of malloc's memory to the GPU with cudaMemcpy, computes, and copies it back. cudart is linked statically.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void double_all(float* numbers, size_t count) {
  const size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x;
  if (i < count) numbers[i] *= 2;
}

int main(int argc, char** argv) {
  constexpr size_t kCount = size_t{1} << 27;
  constexpr size_t kBytes = kCount * sizeof(float);
  const bool is_pinned = argc > 1 && std::strcmp(argv[argc - 1], "--pinned") == 0;
  float* host = static_cast<float*>(std::malloc(kBytes));
  float* back = static_cast<float*>(std::malloc(kBytes));
  if (is_pinned) cudaMallocHost(&host, kBytes), cudaMallocHost(&back, kBytes);
  for (size_t i = 0; i < kCount; ++i) host[i] = static_cast<float>(i % 1000);
  float* there = nullptr;
  cudaMalloc(&there, kBytes);
  double_all<<<1, 1>>>(there, 0);
  cudaDeviceSynchronize();
  std::printf("{\"seconds\": [");
  for (int round = 0; round < 4; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    cudaMemcpy(there, host, kBytes, cudaMemcpyHostToDevice);
    double_all<<<kCount / 256, 256>>>(there, kCount);
    cudaMemcpy(back, there, kBytes, cudaMemcpyDeviceToHost);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::printf("%s%.6f", round > 0 ? ", " : "", taken.count());
  }
  double sum = 0;
  for (size_t i = 0; i < kCount; ++i) sum += back[i] * static_cast<double>(i % 7);
  std::printf("], \"outcome\": \"%.0f %s\"}\n", sum, cudaGetErrorString(cudaGetLastError()));
}

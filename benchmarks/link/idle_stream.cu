// Copies of 4 B in a stream that has run empty: what two events around them measure, by stream and by
// the way in which the host waits for the kernel before.
//
//   nvcc -O2 -std=c++20 -arch=native idle_stream.cu -o idle_stream && ./idle_stream
//
// Each line is one JSON object: the median of nine runs of 500 iterations (upload, kernel, wait,
// download), in microseconds.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRuns = 9;
constexpr int kIterations = 500;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "idle_stream: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

__global__ void invert(unsigned* word) { *word = ~*word; }

/// A copy between two events.
class TimedCopy {
public:
  TimedCopy() {
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event));
  }
  void enqueue(void* target, const void* source, cudaMemcpyKind way, cudaStream_t stream) {
    check(cudaEventRecord(events_[0], stream));
    check(cudaMemcpyAsync(target, source, sizeof(unsigned), way, stream));
    check(cudaEventRecord(events_[1], stream));
  }
  void wait() { check(cudaEventSynchronize(events_[1])); }
  double us() {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events_[0], events_[1]));
    return ms * 1e3;
  }

private:
  std::array<cudaEvent_t, 2> events_{};
};

enum class Wait { none, event, stream };

struct Words {
  unsigned* device = nullptr;
  unsigned* source = nullptr;
  unsigned* target = nullptr;
};

struct Loop {
  TimedCopy up, down;
  cudaEvent_t kernel_done{};
  Words words;

  void iteration(cudaStream_t stream, Wait wait, unsigned value) {
    *words.source = ~value;
    up.enqueue(words.device, words.source, cudaMemcpyHostToDevice, stream);
    invert<<<1, 1, 0, stream>>>(words.device);
    if (wait == Wait::event) {
      check(cudaEventRecord(kernel_done, stream));
      check(cudaEventSynchronize(kernel_done));
    }
    if (wait == Wait::stream) check(cudaStreamSynchronize(stream));
    down.enqueue(words.target, words.device, cudaMemcpyDeviceToHost, stream);
    down.wait();
    if (*words.target != value) std::exit(2);
  }
};

void measure(Loop& loop, const char* stream_name, cudaStream_t stream, const char* wait_name,
             Wait wait) {
  std::array<double, kRuns> up{}, down{};
  for (int run = 0; run < kRuns; ++run) {
    for (int i = 0; i < kIterations; ++i) {
      loop.iteration(stream, wait, static_cast<unsigned>(i));
      up[run] += loop.up.us() / kIterations;
      down[run] += loop.down.us() / kIterations;
    }
  }
  std::sort(up.begin(), up.end());
  std::sort(down.begin(), down.end());
  std::printf(R"({"stream": "%s", "wait": "%s", "up_us": %.2f, "down_us": %.2f})"
              "\n",
              stream_name, wait_name, up[kRuns / 2], down[kRuns / 2]);
}

}  // namespace

int main() {
  Loop loop;
  check(cudaEventCreate(&loop.kernel_done));
  check(cudaMalloc(&loop.words.device, sizeof(unsigned)));
  check(cudaMallocHost(&loop.words.source, sizeof(unsigned)));
  check(cudaMallocHost(&loop.words.target, sizeof(unsigned)));
  cudaStream_t created{}, non_blocking{};
  check(cudaStreamCreate(&created));
  check(cudaStreamCreateWithFlags(&non_blocking, cudaStreamNonBlocking));
  struct NamedStream {
    const char* name;
    cudaStream_t stream;
  };
  struct NamedWait {
    const char* name;
    Wait wait;
  };
  for (const auto& [stream_name, stream] : {NamedStream{"legacy default", nullptr},
                                            NamedStream{"cudaStreamCreate", created},
                                            NamedStream{"non-blocking", non_blocking}})
    for (const auto& [wait_name, wait] :
         {NamedWait{"none", Wait::none}, NamedWait{"event", Wait::event},
          NamedWait{"stream", Wait::stream}})
      measure(loop, stream_name, stream, wait_name, wait);
}

// What it costs to cut an upload of 16 MiB of pinned memory into pieces, and to mark each piece so that
// a thread sees it cross: without marks, by cuStreamWriteValue32 behind each piece or behind the last
// alone, and by events.
//
//   nvcc -O2 -std=c++20 -arch=native marked_pieces.cu -lcuda -o marked_pieces && ./marked_pieces
//
// Each line: marks, pieces of one size, and the median microseconds of 31 rounds.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20U;
constexpr int kRounds = 31;
constexpr unsigned kMaxPieces = 32;

template <typename Status>
void check(Status status) {
  if (static_cast<int>(status) == 0) return;
  std::fprintf(stderr, "marked_pieces: error %d\n", static_cast<int>(status));
  std::exit(1);
}

enum class Marks { none, each, last, events };

struct Upload {
  char* device = nullptr;
  char* host = nullptr;
  unsigned* flag = nullptr;
  cudaStream_t stream{};
  std::array<cudaEvent_t, kMaxPieces> events{};

  Upload() {
    check(cudaMalloc(&device, kBytes));
    check(cudaMallocHost(&host, kBytes));
    check(cudaMallocHost(&flag, sizeof(unsigned)));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& event : events)
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }

  void enqueue(unsigned pieces, Marks marks) {
    const std::size_t size = kBytes / pieces;
    for (unsigned i = 0; i < pieces; ++i) {
      const std::size_t at = i * size;
      check(cudaMemcpyAsync(device + at, host + at, size, cudaMemcpyHostToDevice, stream));
      if (marks == Marks::each || (marks == Marks::last && i + 1 == pieces))
        check(cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(flag), i + 1, 0));
      if (marks == Marks::events) check(cudaEventRecord(events[i], stream));
    }
  }

  double us(unsigned pieces, Marks marks) {
    volatile unsigned* const seen = flag;
    *seen = 0;
    const auto start = std::chrono::steady_clock::now();
    enqueue(pieces, marks);
    if (marks == Marks::none || marks == Marks::events) check(cudaStreamSynchronize(stream));
    else
      while (*seen != pieces) {
      }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    check(cudaStreamSynchronize(stream));
    return took.count();
  }
};

}  // namespace

int main() {
  Upload upload;
  struct Named {
    const char* name;
    Marks marks;
  };
  for (const auto& [name, marks] : {Named{"none", Marks::none}, Named{"each piece", Marks::each},
                                    Named{"the last piece", Marks::last},
                                    Named{"events", Marks::events}})
    for (const unsigned pieces : {1U, 2U, 4U, 8U, 16U, kMaxPieces}) {
      std::vector<double> us;
      for (int round = 0; round < kRounds; ++round) us.push_back(upload.us(pieces, marks));
      std::sort(us.begin(), us.end());
      std::printf(R"({"marks": "%s", "pieces": %u, "us": %.1f})"
                  "\n",
                  name, pieces, us[kRounds / 2]);
    }
}

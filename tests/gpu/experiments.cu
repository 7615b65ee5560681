// Two published experiments as a plain program: CUDA's runtime API, and nothing of Isthmus.
//
//   experiments d2h-overhead              0bench, 1bench and 2bench: copies of 4 B beside kernels
//   experiments pinned-vs-pageable MIB... one copy of each size, up and down, from both kinds
//
// It prints one JSON object a line, for each run of each figure. Tables and quantities have the
// names that `isthmus reproduce` gives them; "value" is in seconds an iteration, or in B/s.
// Written here after the experiments' descriptions. Where a description leaves something open, a
// comment says what was chosen.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <source_location>
#include <string_view>

namespace {

using Word = std::uint32_t;

constexpr int kRuns = 5;
constexpr Word kKernelThenCopyIterations = 100;
constexpr Word kCopyKernelCopyIterations = 1000;
constexpr std::size_t kMib = std::size_t{1} << 20U;

// --- errors, memory, streams, events ----------------------------------------------------------

[[noreturn]] void fail(const char* what,
                       std::source_location where = std::source_location::current()) {
  std::fprintf(stderr, "experiments.cu:%u: %s\n", static_cast<unsigned>(where.line()), what);
  std::exit(1);
}

void check(cudaError_t status, std::source_location where = std::source_location::current()) {
  if (status != cudaSuccess) fail(cudaGetErrorString(status), where);
}

using Memory = std::unique_ptr<void, void (*)(void*)>;

template <typename T>
T* as(const Memory& memory) {
  return static_cast<T*>(memory.get());
}

Memory device_memory(std::size_t size_bytes) {
  void* pointer = nullptr;
  check(cudaMalloc(&pointer, size_bytes));
  return {pointer, [](void* memory) { check(cudaFree(memory)); }};
}

Memory pinned_memory(std::size_t size_bytes) {
  void* pointer = nullptr;
  check(cudaMallocHost(&pointer, size_bytes));
  return {pointer, [](void* memory) { check(cudaFreeHost(memory)); }};
}

Memory pageable_memory(std::size_t size_bytes) {
  void* pointer = std::malloc(size_bytes);
  if (pointer == nullptr) fail("there is not enough host memory");
  return {pointer, std::free};
}

class Stream {
public:
  Stream() { check(cudaStreamCreate(&stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { check(cudaStreamDestroy(stream_)); }
  operator cudaStream_t() const { return stream_; }

private:
  cudaStream_t stream_ = nullptr;
};

class Event {
public:
  Event() { check(cudaEventCreate(&event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { check(cudaEventDestroy(event_)); }
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream)); }
  void wait() const { check(cudaEventSynchronize(event_)); }
  double seconds_since(const Event& first) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first.event_, event_));
    return milliseconds * 1e-3;
  }

private:
  cudaEvent_t event_ = nullptr;
};

// --- what is printed --------------------------------------------------------------------------

constexpr const char* kByCpuClock = "0bench: kernel, download, CPU clock";
constexpr const char* kByEvents = "1bench: kernel, download, GPU events";
constexpr const char* kOnlyCopies = "2bench: upload, kernel, download, only the copies, GPU events";
constexpr const char* kLargeCopies = "Large copies, rates";

void print(const char* table, const char* quantity, std::size_t size_bytes, double value) {
  std::printf(R"({"table": "%s", "quantity": "%s", "bytes": %zu, "value": %.6e})"
              "\n",
              table, quantity, size_bytes, value);
}

// --- 0bench and 1bench: a kernel sets a value, a copy brings it to the host -------------------

__global__ void set(Word* word, Word value) { *word = value; }

void check_sum(std::uint64_t sum, std::uint64_t num_values) {
  if (sum != num_values * (num_values - 1) / 2) fail("the copied values have another sum");
}

/// Seconds of `loop`, which is complete when `stream` is.
using Timer = std::function<double(cudaStream_t stream, const std::function<void()>& loop)>;

double by_cpu_clock(cudaStream_t stream, const std::function<void()>& loop) {
  const auto first = std::chrono::steady_clock::now();
  loop();
  check(cudaStreamSynchronize(stream));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - first).count();
}

double by_events(cudaStream_t stream, const std::function<void()>& loop) {
  const Event first, last;
  first.record(stream);
  loop();
  last.record(stream);
  last.wait();
  return last.seconds_since(first);
}

/// Seconds an iteration: kernel, then cudaMemcpy into ordinary memory, on the default stream.
double blocking_run(const Timer& timed, Word* device) {
  std::uint64_t sum = 0;
  const double seconds = timed(nullptr, [&] {
    for (Word i = 0; i < kKernelThenCopyIterations; ++i) {
      Word value = 0;
      set<<<1, 1>>>(device, i);
      check(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
      sum += value;
    }
  });
  check(cudaGetLastError());
  check_sum(sum, kKernelThenCopyIterations);
  return seconds / kKernelThenCopyIterations;
}

/// Seconds an iteration: kernel, then cudaMemcpyAsync into pinned memory, with one wait at the end.
/// Chosen: each iteration has a word of its own, as the sum of all values demands.
double async_run(const Timer& timed, const Stream& stream, Word* device, Word* pinned) {
  std::memset(pinned, 0xA5, kKernelThenCopyIterations * sizeof(Word));
  const double seconds = timed(stream, [&] {
    for (Word i = 0; i < kKernelThenCopyIterations; ++i) {
      set<<<1, 1, 0, stream>>>(device, i);
      check(cudaMemcpyAsync(pinned + i, device, sizeof(Word), cudaMemcpyDeviceToHost, stream));
    }
  });
  check(cudaGetLastError());
  std::uint64_t sum = 0;
  for (Word i = 0; i < kKernelThenCopyIterations; ++i) sum += pinned[i];
  check_sum(sum, kKernelThenCopyIterations);
  return seconds / kKernelThenCopyIterations;
}

void kernel_then_copy(const char* table, const Timer& timed) {
  const Stream stream;
  const Memory device = device_memory(sizeof(Word));
  const Memory pinned = pinned_memory(kKernelThenCopyIterations * sizeof(Word));
  const auto blocking = [&] { return blocking_run(timed, as<Word>(device)); };
  const auto async = [&] { return async_run(timed, stream, as<Word>(device), as<Word>(pinned)); };
  blocking();  // Chosen: the first run of each way loads the kernel and isn't counted.
  async();
  for (int run = 0; run < kRuns; ++run) {
    print(table, "blocking", sizeof(Word), blocking());
    print(table, "async", sizeof(Word), async());
  }
}

// --- 2bench: upload, light kernel, download; only the copies are timed ------------------------

__global__ void invert(Word* word) { *word = ~*word; }

class CopyKernelCopy {
public:
  struct Seconds {
    double upload = 0;
    double download = 0;
  };

  /// The average of one iteration.
  Seconds run() {
    Seconds sum;
    std::uint64_t values = 0;
    for (Word i = 0; i < kCopyKernelCopyIterations; ++i) {
      iteration(i, sum);
      values += *as<Word>(target_);
    }
    check(cudaGetLastError());
    check_sum(values, kCopyKernelCopyIterations);
    return {sum.upload / kCopyKernelCopyIterations, sum.download / kCopyKernelCopyIterations};
  }

private:
  void iteration(Word value, Seconds& sum) {
    *as<Word>(source_) = ~value;
    upload_first_.record(stream_);
    check(cudaMemcpyAsync(device_.get(), source_.get(), sizeof(Word), cudaMemcpyHostToDevice,
                          stream_));
    upload_last_.record(stream_);
    invert<<<1, 1, 0, stream_>>>(as<Word>(device_));
    kernel_done_.record(stream_);
    kernel_done_.wait();
    download_first_.record(stream_);
    check(cudaMemcpyAsync(target_.get(), device_.get(), sizeof(Word), cudaMemcpyDeviceToHost,
                          stream_));
    download_last_.record(stream_);
    download_last_.wait();
    sum.upload += upload_last_.seconds_since(upload_first_);
    sum.download += download_last_.seconds_since(download_first_);
  }

  Stream stream_;
  Event upload_first_, upload_last_, kernel_done_, download_first_, download_last_;
  Memory device_ = device_memory(sizeof(Word));
  // Chosen: a word for each way. With one for both, the upload reads what a download wrote.
  Memory source_ = pinned_memory(sizeof(Word));
  Memory target_ = pinned_memory(sizeof(Word));
};

void copy_kernel_copy() {
  CopyKernelCopy loop;
  loop.run();  // Chosen: the first run loads the kernel and isn't counted.
  for (int run = 0; run < kRuns; ++run) {
    const auto [upload, download] = loop.run();
    print(kOnlyCopies, "H2D", sizeof(Word), upload);
    print(kOnlyCopies, "D2H", sizeof(Word), download);
  }
}

// --- large copies from and to pinned and pageable memory --------------------------------------

double copy_rate(void* target, const void* source, std::size_t size_bytes, cudaMemcpyKind way) {
  const Event first, last;
  first.record(nullptr);
  check(cudaMemcpy(target, source, size_bytes, way));
  last.record(nullptr);
  last.wait();
  return static_cast<double>(size_bytes) / last.seconds_since(first);
}

struct Rates {
  double up;
  double down;
};

/// One copy of each direction, with host memory that is allocated and touched before.
Rates copy_both_ways(Memory (*allocate)(std::size_t), void* device, std::size_t size_bytes) {
  const Memory source = allocate(size_bytes);
  const Memory target = allocate(size_bytes);
  for (std::size_t i = 0; i < size_bytes / sizeof(Word); ++i)
    as<Word>(source)[i] = static_cast<Word>(i);
  std::memset(target.get(), 0, size_bytes);
  const double up = copy_rate(device, source.get(), size_bytes, cudaMemcpyHostToDevice);
  const double down = copy_rate(target.get(), device, size_bytes, cudaMemcpyDeviceToHost);
  if (std::memcmp(source.get(), target.get(), size_bytes) != 0) fail("a copy brought other bytes");
  return {up, down};
}

void large_copies(std::size_t size_bytes) {
  const Memory device = device_memory(size_bytes);
  const Rates pageable = copy_both_ways(pageable_memory, device.get(), size_bytes);
  const Rates pinned = copy_both_ways(pinned_memory, device.get(), size_bytes);
  print(kLargeCopies, "H2D pageable", size_bytes, pageable.up);
  print(kLargeCopies, "D2H pageable", size_bytes, pageable.down);
  print(kLargeCopies, "H2D pinned", size_bytes, pinned.up);
  print(kLargeCopies, "D2H pinned", size_bytes, pinned.down);
}

/// Chosen: the driver's first copies, for which it makes its staging memory, aren't counted.
void warm_up() {
  const Memory device = device_memory(kMib);
  for (const auto allocate : {pageable_memory, pinned_memory})
    copy_both_ways(allocate, device.get(), kMib);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view experiment = argc > 1 ? argv[1] : "";
  if (experiment == "d2h-overhead" && argc == 2) {
    kernel_then_copy(kByCpuClock, by_cpu_clock);
    kernel_then_copy(kByEvents, by_events);
    copy_kernel_copy();
  } else if (experiment == "pinned-vs-pageable" && argc > 2) {
    warm_up();
    for (int i = 2; i < argc; ++i) {
      const std::size_t mib = std::strtoull(argv[i], nullptr, 10);
      if (mib == 0) fail("a size is a number of MiB, such as 160");
      large_copies(mib * kMib);
    }
  } else {
    fail("use: experiments d2h-overhead, or experiments pinned-vs-pageable MIB...");
  }
  return 0;
}

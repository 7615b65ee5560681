// What `isthmus bench` can't measure about windows, as JSON: each way to copy by itself, the cost
// of checking the buffer, the effect of the CPU that runs the copy, the bandwidth of two bound
// CPUs, and gdr_copy_to_mapping of any libgdrapi.so.2 beside Window::write.
//
//   window_details [LIBGDRAPI]
//
// LIBGDRAPI is a path, as for dlopen; without it that part is omitted. The device is the first one
// of $ISTHMUS_DRIVER. Warm caches, medians of rounds; compared ways take turns in every round, so
// that a drift of the machine affects all of them alike.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iostream>
#include <thread>
#include <vector>

#include <gdrapi.h>

#include <isthmus/window.hpp>

#include "device/buffers.hpp"
#include "host/cpu/copy_instructions.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/memory/pattern.hpp"
#include "rounds.hpp"
#include "rows.hpp"
#include "window/copies/streaming_copy.hpp"

namespace {

using isthmus::BufferCheck;
using isthmus::Window;
using isthmus::window::StreamingCopy;

constexpr std::size_t kBufferBytes = std::size_t{4} << 20U;  // has its own piece of device memory
constexpr std::size_t kNumRounds = 51;
constexpr std::size_t kRoundBytes = std::size_t{1} << 20U;
constexpr std::size_t kSizes[] = {4, 64, 256, 1024, 4096, 16384, 65536, 1 << 20};
constexpr std::size_t kSmallSizes[] = {4, 64, 256, 1024, 4096};

/// Seconds of one run of each task, in turns.
std::vector<double> medians(const std::vector<Task>& tasks, std::size_t size_bytes,
                            std::size_t max_repeats) {
  const std::size_t repeats = std::clamp(kRoundBytes / size_bytes, std::size_t{1}, max_repeats);
  std::vector<std::vector<double>> samples(tasks.size());
  for (std::size_t round = 0; round < kNumRounds; ++round) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      samples[i].push_back(seconds_of(tasks[i], repeats));
    }
  }
  std::vector<double> found;
  for (const auto& values : samples) found.push_back(median(values));
  return found;
}

/// A device buffer, windows on it, and host memory.
class Bench {
public:
  Bench()
      : driver_(isthmus::Driver::open()),
        context_(isthmus::Context::retain(driver_, 0)),
        current_(context_),
        buffer_(context_, kBufferBytes),
        windows_(driver_),
        window_(open(BufferCheck::on_opening)),
        source_(kBufferBytes),
        target_(kBufferBytes) {
    isthmus::host::fill_pattern(source_.data(), source_.size(), 1);
  }

  const isthmus::Driver& driver() const { return driver_; }
  Window open(BufferCheck check) {
    isthmus::WindowOptions options;
    options.check = check;
    return windows_.open(buffer_.pointer(), kBufferBytes, options);
  }
  Window& window() { return window_; }
  unsigned long pointer() const { return buffer_.pointer(); }
  const std::byte* source() const { return source_.data(); }
  std::byte* target() { return target_.data(); }

  Task write(Window& window, std::size_t size_bytes) {
    return [&window, this, size_bytes] { window.write(0, source(), size_bytes); };
  }
  Task read(Window& window, std::size_t size_bytes) {
    return [&window, this, size_bytes] { window.read(target(), 0, size_bytes); };
  }

private:
  isthmus::Driver driver_;
  isthmus::Context context_;
  isthmus::CurrentContext current_;
  isthmus::DeviceBuffer buffer_;
  isthmus::Windows windows_;
  Window window_;
  std::vector<std::byte> source_;
  std::vector<std::byte> target_;
};

/// Each way to copy: writes with a fence after each, writes without, and reads.
std::vector<Row> instructions(Bench& bench) {
  std::vector<Row> rows;
  std::byte* mapping = bench.window().data();
  const auto ways = isthmus::window::streaming_copies(isthmus::host::copy_instructions());
  for (const std::size_t size_bytes : kSizes) {
    std::vector<Task> writes;
    std::vector<Task> streams;
    std::vector<Task> reads;
    for (const StreamingCopy* way : ways) {
      writes.emplace_back([&bench, mapping, way, size_bytes] {
        way->write(mapping, bench.source(), size_bytes);
        isthmus::window::store_fence();
      });
      streams.emplace_back(
          [&bench, mapping, way, size_bytes] { way->write(mapping, bench.source(), size_bytes); });
      reads.emplace_back(
          [&bench, mapping, way, size_bytes] { way->read(bench.target(), mapping, size_bytes); });
    }
    const auto fenced = medians(writes, size_bytes, 1000);
    const auto unfenced = medians(streams, size_bytes, 1000);
    const auto read = medians(reads, size_bytes, 4);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      rows.emplace_back()
          .add("instructions", std::string(ways[i]->name))
          .add("bytes", size_bytes)
          .add("write_and_fence_s", fenced[i])
          .add("write_to_the_same_lines_s", unfenced[i])
          .add("read_s", read[i]);
    }
  }
  return rows;
}

/// The cost of checking the buffer in each call.
std::vector<Row> checks(Bench& bench) {
  std::vector<Row> rows;
  Window looking = bench.open(BufferCheck::each_call);
  for (const std::size_t size_bytes : kSmallSizes) {
    const auto writes =
        medians({bench.write(bench.window(), size_bytes), bench.write(looking, size_bytes)},
                size_bytes, 1000);
    const auto reads = medians(
        {bench.read(bench.window(), size_bytes), bench.read(looking, size_bytes)}, size_bytes, 16);
    rows.emplace_back()
        .add("bytes", size_bytes)
        .add("write_on_opening_s", writes[0])
        .add("write_each_call_s", writes[1])
        .add("read_on_opening_s", reads[0])
        .add("read_each_call_s", reads[1]);
  }
  return rows;
}

/// A library with GDRCopy's functions, opened by its path, and a buffer pinned and mapped with it.
class Gdrapi {
public:
  Gdrapi(const char* path, unsigned long pointer) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    gdr_ = find<decltype(&gdr_open)>("gdr_open")();
    if (gdr_ == nullptr) throw std::runtime_error("gdr_open failed");
    expect(find<decltype(&gdr_pin_buffer)>("gdr_pin_buffer")(gdr_, pointer, kBufferBytes, 0, 0,
                                                             &handle_),
           "gdr_pin_buffer");
    expect(find<decltype(&gdr_map)>("gdr_map")(gdr_, handle_, &mapping_, kBufferBytes), "gdr_map");
    to_mapping_ = find<decltype(&gdr_copy_to_mapping)>("gdr_copy_to_mapping");
    from_mapping_ = find<decltype(&gdr_copy_from_mapping)>("gdr_copy_from_mapping");
  }
  ~Gdrapi() {
    find<decltype(&gdr_unmap)>("gdr_unmap")(gdr_, handle_, mapping_, kBufferBytes);
    find<decltype(&gdr_unpin_buffer)>("gdr_unpin_buffer")(gdr_, handle_);
    find<decltype(&gdr_close)>("gdr_close")(gdr_);
  }
  Gdrapi(const Gdrapi&) = delete;
  Gdrapi& operator=(const Gdrapi&) = delete;

  void write(const void* source, std::size_t size_bytes) const {
    to_mapping_(handle_, mapping_, source, size_bytes);
  }
  void read(void* target, std::size_t size_bytes) const {
    from_mapping_(handle_, target, mapping_, size_bytes);
  }

private:
  template <typename Function>
  Function find(const char* name) const {
    void* found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("no ") + name);
    return reinterpret_cast<Function>(found);
  }
  static void expect(int status, const char* what) {
    if (status != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(status));
  }

  void* library_;
  gdr_t gdr_ = nullptr;
  gdr_mh_t handle_{};
  void* mapping_ = nullptr;
  decltype(&gdr_copy_to_mapping) to_mapping_ = nullptr;
  decltype(&gdr_copy_from_mapping) from_mapping_ = nullptr;
};

std::vector<Row> beside_gdrapi(Bench& bench, const char* path) {
  std::vector<Row> rows;
  const Gdrapi gdrapi(path, bench.pointer());
  for (const std::size_t size_bytes : kSizes) {
    const Task gdr_write = [&] { gdrapi.write(bench.source(), size_bytes); };
    const Task gdr_read = [&] { gdrapi.read(bench.target(), size_bytes); };
    const auto writes =
        medians({bench.write(bench.window(), size_bytes), gdr_write}, size_bytes, 1000);
    const auto reads = medians({bench.read(bench.window(), size_bytes), gdr_read}, size_bytes, 4);
    rows.emplace_back()
        .add("bytes", size_bytes)
        .add("window_write_s", writes[0])
        .add("gdr_copy_to_mapping_s", writes[1])
        .add("window_read_s", reads[0])
        .add("gdr_copy_from_mapping_s", reads[1]);
  }
  return rows;
}

/// The same from each CPU: every figure depends on a core's distance from the GPU's root port.
std::vector<Row> by_cpu(Bench& bench) {
  std::vector<Row> rows;
  const std::vector<int> all = isthmus::host::allowed_cpus();
  Window& window = bench.window();
  for (const int cpu : all) {
    if (!isthmus::host::allow_cpus({cpu})) continue;
    const auto small = medians({bench.write(window, 4), bench.write(window, 4096)}, 4096, 1000);
    const auto large = medians({bench.write(window, 1 << 20)}, 1 << 20, 1);
    const auto reads = medians({bench.read(window, 64), bench.read(window, 1024)}, 1024, 4);
    rows.emplace_back()
        .add("cpu", static_cast<std::size_t>(cpu))
        .add("write_4_s", small[0])
        .add("write_4096_s", small[1])
        .add("write_1048576_s", large[0])
        .add("read_64_s", reads[0])
        .add("read_1024_s", reads[1]);
  }
  isthmus::host::allow_cpus(all);
  return rows;
}

/// A thread bound to one CPU that writes its half on request.
class SecondWriter {
public:
  SecondWriter(int cpu, Task half) : half_(std::move(half)), thread_([this, cpu] { run(cpu); }) {
    while (!ready_) {
    }
  }
  ~SecondWriter() {
    ending_ = true;
    begin();
    thread_.join();
  }
  SecondWriter(const SecondWriter&) = delete;
  SecondWriter& operator=(const SecondWriter&) = delete;

  void begin() { begun_.fetch_add(1, std::memory_order_release); }
  void wait() const {
    while (done_.load(std::memory_order_acquire) != begun_.load(std::memory_order_relaxed)) {
    }
  }

private:
  void run(int cpu) {
    isthmus::host::allow_cpus({cpu});
    ready_ = true;
    for (unsigned seen = 0;; done_.store(seen, std::memory_order_release)) {
      while (begun_.load(std::memory_order_acquire) == seen) {
      }
      if (ending_) return;
      ++seen;
      half_();
    }
  }

  Task half_;
  alignas(128) std::atomic<unsigned> begun_{0};
  alignas(128) std::atomic<unsigned> done_{0};
  std::atomic<bool> ready_{false};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

/// Two bound threads that write half each, back to back, with nothing else between them and the
/// link: the link's limit, whichever cores write.
std::vector<Row> by_pair(Bench& bench) {
  std::vector<Row> rows;
  const std::vector<int> all = isthmus::host::allowed_cpus();
  const StreamingCopy& way = isthmus::window::best_streaming_copy();
  for (const std::size_t size_bytes : {std::size_t{65536}, std::size_t{1} << 20U}) {
    const std::size_t half_bytes = size_bytes / 2;
    const auto half = [&](std::size_t index) {
      return [&bench, &way, half_bytes, index] {
        const std::size_t offset = index * half_bytes;
        way.write(bench.window().data() + offset, bench.source() + offset, half_bytes);
        isthmus::window::store_fence();
      };
    };
    for (const int first : all) {
      for (const int second : all) {
        if (first == second) continue;
        SecondWriter writer(second, half(1));
        isthmus::host::allow_cpus({first});
        const Task own = half(0);
        std::vector<double> rounds;
        for (int round = 0; round < 7; ++round) {
          rounds.push_back(seconds_of(
              [&] {
                writer.begin();
                own();
                writer.wait();
              },
              (std::size_t{1} << 21U) / size_bytes));
        }
        isthmus::host::allow_cpus(all);
        rows.emplace_back()
            .add("bytes", size_bytes)
            .add("cpu", static_cast<std::size_t>(first))
            .add("second_cpu", static_cast<std::size_t>(second))
            .add("write_s", median(rounds));
      }
    }
  }
  return rows;
}

void run(const char* gdrapi_path) {
  Bench bench;
  std::cout << "{\n  \"emulated\": " << (bench.driver().emulated() ? "true" : "false")
            << ",\n  \"backend\": \"" << isthmus::name_of(bench.window().backend())
            << "\",\n  \"window_instructions\": \"" << bench.window().instructions()
            << "\",\n  \"instructions\": " << list(instructions(bench))
            << ",\n  \"buffer_checks\": " << list(checks(bench))
            << ",\n  \"by_cpu\": " << list(by_cpu(bench))
            << ",\n  \"by_pair\": " << list(by_pair(bench));
  if (gdrapi_path != nullptr) {
    std::cout << ",\n  \"gdrapi\": " << list(beside_gdrapi(bench, gdrapi_path));
  }
  std::cout << "\n}\n";
}

}  // namespace

int main(int argc, char** argv) try {
  run(argc > 1 ? argv[1] : nullptr);
  return std::cout.flush() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}

// Measures versions of the library in turns in one process:
//   turns DRIVER PARTS NUM_LIVES MAX_BYTES VERSION.so...
// In each life all versions are opened again, with new threads and memory. Prints one JSON object a
// line for each life and point: the median and the least nanoseconds of a call, in the versions'
// order.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "device.hpp"
#include "points.hpp"
#include "rounds.hpp"
#include "rows.hpp"

namespace {

/// Longer than a version's threads spin after their last job: then they sleep.
constexpr double kSleepSeconds = 110e-6;
constexpr double kWarmSeconds = 50e-6;
/// Short enough that all versions see the machine in the same state.
constexpr double kSampleSeconds = 50e-6;
constexpr double kPointSeconds = 12e-3;
constexpr double kLargePointSeconds = 30e-3;
constexpr std::size_t kAsleepCalls = 4;
constexpr std::size_t kMinRounds = 6;
constexpr std::size_t kMaxRounds = 18;
constexpr std::size_t kWindowBytes = std::size_t{1} << 20;

void wait_for(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
  }
}

class Version {
public:
  explicit Version(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    find(open_, "version_open");
    find(close_, "version_close");
    find(sample_, "version_sample");
  }

  void open(const Memory& memory) {
    opened_ = open_(&memory);
    if (opened_ == nullptr) throw std::runtime_error("a version could not be opened");
  }
  void close() { close_(opened_); }

  double seconds_of(const Request& request, std::size_t num_calls) const {
    const double seconds = sample_(opened_, &request, num_calls);
    if (seconds < 0) throw std::runtime_error("a version failed");
    return seconds;
  }

  void warm_up(const Request& request) const {
    double seconds = 0;
    while (seconds < kWarmSeconds) seconds += seconds_of(request, 1);
  }

private:
  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(dlerror());
  }

  void* library_;
  void* opened_ = nullptr;
  decltype(&version_open) open_ = nullptr;
  decltype(&version_close) close_ = nullptr;
  decltype(&version_sample) sample_ = nullptr;
};
using Versions = std::vector<Version>;

/// The memory that all versions use, in one life.
class Arena {
public:
  Arena(const Device& device, const std::vector<Point>& points) : device_(device) {
    std::size_t pinned_bytes = kWindowBytes;
    for (const Point& point : points) {
      size_bytes_ = std::max(size_bytes_, point.request.size_bytes);
      if (point.request.pinned) pinned_bytes = std::max(pinned_bytes, point.request.size_bytes);
    }
    void* const pages =
        mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    std::memset(pages, 1, size_bytes_);
    memory_ = {device.allocate(size_bytes_), pages, device.allocate_pinned(pinned_bytes),
               kWindowBytes};
  }
  Arena(const Arena&) = delete;
  ~Arena() {
    munmap(memory_.pageable, size_bytes_);
    device_.free(memory_.device);
    device_.free_pinned(memory_.pinned);
  }

  const Memory& memory() const { return memory_; }

private:
  const Device& device_;
  // Memory of 2 MiB and more is shared with no other buffer: windows needn't check whether it is
  // alive.
  std::size_t size_bytes_ = std::size_t{2} << 20;
  Memory memory_;
};

/// Large copies take long, and depend little on the placement of threads and memory: they are
/// measured only in the first life.
bool is_large(const Point& point) { return point.part == "paths"; }

struct Plan {
  std::size_t num_calls;
  std::size_t num_rounds;
};

/// The same for all versions, based on the fastest one.
Plan plan_of(const Versions& versions, const Point& point) {
  double seconds = 1e9;
  for (const Version& version : versions) {
    version.warm_up(point.request);
    seconds = std::min(seconds, version.seconds_of(point.request, 1));
    if (seconds < kSampleSeconds) seconds = std::min(seconds, version.seconds_of(point.request, 8));
  }
  const auto fitting = static_cast<std::size_t>(kSampleSeconds / seconds);
  const std::size_t num_calls = point.asleep ? kAsleepCalls : std::max<std::size_t>(1, fitting);
  const double turn_seconds =
      kSleepSeconds + std::max(seconds, kWarmSeconds) + seconds * static_cast<double>(num_calls);
  const double round_seconds = turn_seconds * static_cast<double>(versions.size());
  const double max_seconds = is_large(point) ? kLargePointSeconds : kPointSeconds;
  const auto affordable = static_cast<std::size_t>(max_seconds / round_seconds);
  return {num_calls, std::clamp(affordable, kMinRounds, kMaxRounds)};
}

Row measure(const Versions& versions, const Point& point) {
  const Plan plan = plan_of(versions, point);
  std::vector<std::vector<double>> samples(versions.size());
  for (std::size_t round = 0; round < plan.num_rounds; ++round)
    for (std::size_t turn = 0; turn < versions.size(); ++turn) {
      const std::size_t i = (round + turn) % versions.size();
      wait_for(kSleepSeconds);
      if (!point.asleep) versions[i].warm_up(point.request);
      samples[i].push_back(versions[i].seconds_of(point.request, plan.num_calls) * 1e9);
    }
  std::string times;
  for (const std::vector<double>& found : samples)
    times += (times.empty() ? "[" : ", [") + std::to_string(median(found)) + ", " +
             std::to_string(*std::ranges::min_element(found)) + "]";
  return Row()
      .add("part", point.part)
      .add("point", point.name)
      .add("bytes", point.request.size_bytes)
      .raw("ns", "[" + times + "]");
}

void live(const Device& device, Versions& versions, const std::vector<Point>& points, int life) {
  const Arena arena(device, points);
  for (std::size_t i = 0; i < versions.size(); ++i)
    versions[(i + static_cast<std::size_t>(life)) % versions.size()].open(arena.memory());
  for (const Point& point : points) {
    if (life > 0 && is_large(point)) continue;
    std::printf("%s\n", measure(versions, point).add("life", std::size_t(life)).text().c_str());
  }
  std::fflush(stdout);
  for (Version& version : versions) version.close();
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 6) throw std::runtime_error("DRIVER PARTS NUM_LIVES MAX_BYTES VERSION.so...");
  const Device device(arguments[1]);
  const std::vector<Point> points = points_of(arguments[2], std::stoul(arguments[4]));
  const int num_lives = std::stoi(arguments[3]);
  Versions versions(arguments + 5, arguments + count);
  for (int life = 0; life < num_lives; ++life) live(device, versions, points, life);
} catch (const std::exception& error) {
  std::fprintf(stderr, "turns: %s\n", error.what());
  return 1;
}

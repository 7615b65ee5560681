#include "measure/window/window_loops.hpp"

#include <cstdint>
#include <utility>

#include <isthmus/errors.hpp>
#include <isthmus/window.hpp>

#include "device/buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

using Word = std::uint32_t;
constexpr std::size_t kWarmUps = 2;
constexpr int kOpens = 100;

/// Runs `step` and returns its result; stores its time in `seconds`.
template <typename Step>
auto timed(double& seconds, Step step) {
  const auto start = Clock::now();
  auto result = step();
  seconds = seconds_since(start);
  return result;
}

/// The steps of one window's life, in seconds.
struct Life {
  double open_new = 0;
  double pin = 0;
  double map = 0;
  double first_store = 0;
  double first_load = 0;
  double open_cached = 0;
  double close = 0;
  double unmap = 0;
  double unpin = 0;
  double memcpy = 0;
};

class LifecycleLoop {
public:
  LifecycleLoop(const Context& context, std::size_t size_bytes)
      : context_(context), size_bytes_(size_bytes), windows_(context.driver()) {}

  Life one_life() {
    Life life;
    const DeviceBuffer buffer(context_, size_bytes_);
    // Written first, so that no step below includes the device's late page allocation.
    clear(buffer);
    const WindowCosts before = windows_.costs();
    Window window = timed(life.open_new, [&] { return open(buffer); });
    touch(window, life);
    check(buffer);
    life.open_cached = seconds_of_cached(buffer);
    life.memcpy = seconds_of_memcpy(buffer);
    timed(life.close, [&] {
      window.close();
      return 0;
    });
    take_steps(life, before, windows_.costs());
    return life;
  }

  /// The steps that this backend doesn't have, and why; empty if it has all.
  std::map<std::string, std::string> missing_steps() const {
    if (windows_.costs().unpin.count != 0) return {};
    return {{"unpin", "this backend has no separate unpin step"}};
  }

private:
  // Opening a cached window takes none of these steps, so all of them belong to this life.
  static void take_steps(Life& life, const WindowCosts& before, const WindowCosts& after) {
    life.pin = after.pin.seconds - before.pin.seconds;
    life.map = after.map.seconds - before.map.seconds;
    life.unmap = after.unmap.seconds - before.unmap.seconds;
    life.unpin = after.unpin.seconds - before.unpin.seconds;
  }

  Window open(const DeviceBuffer& buffer) { return windows_.open(buffer.pointer(), size_bytes_); }

  /// The average of many, back to back, each closed at once: one is too short for the clock.
  double seconds_of_cached(const DeviceBuffer& buffer) {
    const auto start = Clock::now();
    for (int i = 0; i < kOpens; ++i) open(buffer).close();
    return seconds_since(start) / kOpens;
  }

  void clear(const DeviceBuffer& buffer) const {
    const auto finish = context_.driver().call(symbol::stream_synchronize);
    context_.driver().call(symbol::memset_d8_async)(buffer.pointer(), static_cast<unsigned char>(0),
                                                    size_bytes_, static_cast<CUstream>(nullptr));
    finish(nullptr);
  }

  void touch(Window& window, Life& life) {
    ++round_;
    timed(life.first_store, [&] {
      window.write(0, &round_, sizeof round_);
      return 0;
    });
    Word seen = 0;
    timed(life.first_load, [&] {
      window.read(&seen, size_bytes_ - sizeof seen, sizeof seen);
      return 0;
    });
  }

  void check(const DeviceBuffer& buffer) const {
    Word arrived = 0;
    context_.driver().call(symbol::memcpy_dtoh)(static_cast<void*>(&arrived), buffer.pointer(),
                                                sizeof arrived);
    if (arrived == round_) return;
    throw CorruptTransfer(
        "verification failed: 4 bytes written through a new window did not reach its buffer");
  }

  double seconds_of_memcpy(const DeviceBuffer& buffer) const {
    const auto copy = context_.driver().call(symbol::memcpy_htod);
    const auto finish = context_.driver().call(symbol::stream_synchronize);
    const auto start = Clock::now();
    copy(buffer.pointer(), static_cast<const void*>(&round_), sizeof round_);
    finish(nullptr);
    return seconds_since(start);
  }

  Context context_;
  std::size_t size_bytes_;
  Windows windows_;
  Word round_ = 0;
};

constexpr std::pair<const char*, double Life::*> kSteps[] = {
    {"open_new", &Life::open_new},
    {"pin", &Life::pin},
    {"map", &Life::map},
    {"first_store", &Life::first_store},
    {"first_load", &Life::first_load},
    {"open_cached", &Life::open_cached},
    {"close", &Life::close},
    {"unmap", &Life::unmap},
    {"unpin", &Life::unpin},
    {"memcpy_4_bytes", &Life::memcpy},
};

}  // namespace

Measurement measure_window_lifecycle(const Context& context,
                                     const WindowLifecycleOptions& options) {
  if (options.size_bytes < sizeof(Word)) throw UsageError("a window's life needs 4 bytes or more");
  const CurrentContext current(context);
  LifecycleLoop loop(context, options.size_bytes);
  Measurement measurement;
  measurement.first_call_seconds = loop.one_life().open_new;
  for (std::size_t i = 0; i < kWarmUps; ++i) loop.one_life();
  std::vector<Life> lives;
  const Samples openings = sample(options.stopping, "open_new", 1,
                                  [&] { return lives.emplace_back(loop.one_life()).open_new; });
  measurement.waived = loop.missing_steps();
  for (const auto& [metric, step] : kSteps) {
    if (measurement.waived.contains(metric)) continue;
    Samples samples{metric, {}, 1, openings.stopped_by};
    for (const Life& life : lives) samples.seconds.push_back(life.*step);
    measurement.samples.push_back(std::move(samples));
  }
  return measurement;
}

}  // namespace isthmus::measure

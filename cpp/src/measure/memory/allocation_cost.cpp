#include "measure/memory/allocation_cost.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

/// A word that is unlikely to be there by chance, and different for each slot.
std::uint32_t word_for(std::size_t slot) {
  return 0x5eed0001U + static_cast<std::uint32_t>(slot) * 0x9e3779b9U;
}

std::string number(std::size_t slot) { return "allocation " + std::to_string(slot); }

}  // namespace

LiveAllocations::~LiveAllocations() {
  for (std::size_t slot = 0; slot < live_.size(); ++slot) {
    if (live_[slot] == 0) continue;
    try {
      allocator_.free(slot);
    } catch (...) {
      // An exception is already in flight, and names the first failure.
      continue;
    }
  }
}

void LiveAllocations::allocate(std::size_t slot) {
  allocator_.allocate(slot);
  if (!allocator_.is_there(slot)) {
    throw CorruptTransfer("verification failed: " + number(slot) +
                          " was granted, and there is no memory");
  }
  live_[slot] = 1;
}

void LiveAllocations::free(std::size_t slot) {
  live_[slot] = 0;
  allocator_.free(slot);
}

void LiveAllocations::verify_words() {
  for (std::size_t slot = 0; slot < live_.size(); ++slot) allocator_.write(slot, word_for(slot));
  for (std::size_t slot = 0; slot < live_.size(); ++slot) {
    if (allocator_.holds(slot, word_for(slot))) continue;
    throw CorruptTransfer("verification failed: " + number(slot) + " of " +
                          std::to_string(live_.size()) +
                          " that are alive doesn't hold what was written to its ends");
  }
}

void LiveAllocations::verify_free(std::size_t slot) {
  const auto before = allocator_.identity(slot);
  free(slot);
  if (before && allocator_.known(*before)) {
    throw CorruptTransfer("verification failed: " + number(slot) +
                          " was freed, and the driver still knows it");
  }
}

void LiveAllocations::verify() {
  for (std::size_t slot = 0; slot < live_.size(); ++slot) {
    allocator_.make_ready(slot);
    allocate(slot);
  }
  allocator_.finish();
  verify_words();
  for (std::size_t slot = 0; slot < live_.size(); ++slot) verify_free(slot);
  allocator_.finish();
}

namespace {

// A thousand times the cost of reading the clock.
constexpr SampleSize kPairs{.seconds = 20e-6, .max_repetitions = 1000};
constexpr std::size_t kWarmUps = 2;
constexpr std::size_t kFewSamples = 3;
constexpr double kNoWarmUpSeconds = 10e-3;  // an allocation this long needs no warm-up
constexpr const char* kOneFits =
    "only one is allocated at a time: more would take more memory than this test may have";
constexpr const char* kReturnsDone = "the call returns when it is done: see allocate and free";

/// One allocation and its free, in seconds.
struct Life {
  double allocate = 0;
  double allocate_return = 0;
  double free = 0;
  double free_return = 0;
};

/// Seconds until the call returned, and until its work was complete.
struct Step {
  double returned = 0;
  double done = 0;
};

class AllocationLoop {
public:
  AllocationLoop(const Context& context, Allocator& allocator, const AllocationOptions& options)
      : driver_(context.driver()),
        allocator_(allocator),
        options_(options),
        live_(allocator, options.num_live) {
    if (options.copied) target_.emplace(context, options.size_bytes);
  }

  Measurement run() {
    Measurement measurement;
    measurement.first_call_seconds = warm_up();
    sample_lives(measurement);
    sample_live(measurement);
    live_.verify();
    return measurement;
  }

private:
  template <typename Call>
  Step timed(Call call) {
    Step step;
    const auto start = Clock::now();
    call();
    step.returned = seconds_since(start);
    allocator_.finish();
    step.done = allocator_.returns_early() ? seconds_since(start) : step.returned;
    return step;
  }

  Life one_life() {
    allocator_.make_ready(0);
    const Step allocate = timed([&] { live_.allocate(0); });
    const double newness = target_ ? seconds_of_newness() : 0;
    const Step free = timed([&] { live_.free(0); });
    return {allocate.done + newness, allocate.returned + newness, free.done, free.returned};
  }

  /// What the first copy takes longer than the second one.
  double seconds_of_newness() {
    const auto seconds_of_copy = [&] {
      const auto start = Clock::now();
      driver_.call(symbol::memcpy_htod)(target_->pointer(), allocator_.host(0),
                                        options_.size_bytes);
      return seconds_since(start);
    };
    const double first = seconds_of_copy();
    return std::max(0.0, first - seconds_of_copy());
  }

  double warm_up() {
    const double first = one_life().allocate;
    for (std::size_t i = 0; i < kWarmUps && first < kNoWarmUpSeconds; ++i) one_life();
    return first;
  }

  void sample_lives(Measurement& measurement) {
    std::vector<Life> lives;
    const Samples taken = sample(options_.stopping, "allocate", 1,
                                 [&] { return lives.emplace_back(one_life()).allocate; });
    add(measurement, lives, taken.stopped_by, "allocate", &Life::allocate);
    add(measurement, lives, taken.stopped_by, "free", &Life::free);
    if (allocator_.returns_early()) {
      add(measurement, lives, taken.stopped_by, "allocate_return", &Life::allocate_return);
      add(measurement, lives, taken.stopped_by, "free_return", &Life::free_return);
    } else {
      measurement.waived["allocate_return"] = measurement.waived["free_return"] = kReturnsDone;
    }
    sample_pairs(measurement, lives, taken.stopped_by);
  }

  static void add(Measurement& measurement, const std::vector<Life>& lives, StoppedBy stopped_by,
                  const char* metric, double Life::* step) {
    Samples samples{metric, {}, 1, stopped_by};
    for (const Life& life : lives) samples.seconds.push_back(life.*step);
    measurement.samples.push_back(std::move(samples));
  }

  /// Short pairs are timed many at a time; for long ones the single times are used.
  void sample_pairs(Measurement& measurement, const std::vector<Life>& lives,
                    StoppedBy stopped_by) {
    const std::size_t num_pairs = pairs_for(lives);
    if (num_pairs > 1) {
      measurement.samples.push_back(sample(options_.stopping, "pair", num_pairs,
                                           [&] { return seconds_of_pairs(num_pairs); }));
      return;
    }
    Samples samples{"pair", {}, 1, stopped_by};
    for (const Life& life : lives) samples.seconds.push_back(life.allocate + life.free);
    measurement.samples.push_back(std::move(samples));
  }

  std::size_t pairs_for(const std::vector<Life>& lives) {
    // Else the preparation between them would be timed, and nothing would be copied.
    if (allocator_.make_ready(0) || options_.copied) return 1;
    double least = lives.front().allocate + lives.front().free;
    for (const Life& life : lives) least = std::min(least, life.allocate + life.free);
    return kPairs.repetitions_of(least);
  }

  double seconds_of_pairs(std::size_t num_pairs) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < num_pairs; ++i) {
      live_.allocate(0);
      live_.free(0);
    }
    allocator_.finish();
    return seconds_since(start) / static_cast<double>(num_pairs);
  }

  void sample_live(Measurement& measurement) {
    if (options_.num_live == 1) {
      measurement.waived["allocate_live"] = measurement.waived["free_live"] = kOneFits;
      return;
    }
    Samples frees{"free_live", {}, options_.num_live, StoppedBy::max_samples};
    Samples allocations = sample(live_stopping(), "allocate_live", options_.num_live, [&] {
      const double seconds = seconds_of_all([&](std::size_t slot) { live_.allocate(slot); }, true);
      frees.seconds.push_back(seconds_of_all([&](std::size_t slot) { live_.free(slot); }, false));
      return seconds;
    });
    frees.stopped_by = allocations.stopped_by;
    measurement.samples.push_back(std::move(allocations));
    measurement.samples.push_back(std::move(frees));
  }

  /// A sample of several allocations is an average already, and takes longer by their number.
  Stopping live_stopping() const {
    Stopping stopping = options_.stopping;
    const bool asked_for = stopping.min_samples == stopping.max_samples;
    if (!asked_for) stopping.min_samples = std::min(stopping.min_samples, kFewSamples);
    return stopping;
  }

  template <typename Call>
  double seconds_of_all(Call call, bool prepare) {
    for (std::size_t slot = 0; prepare && slot < options_.num_live; ++slot)
      allocator_.make_ready(slot);
    const auto start = Clock::now();
    for (std::size_t slot = 0; slot < options_.num_live; ++slot) call(slot);
    allocator_.finish();
    return seconds_since(start) / static_cast<double>(options_.num_live);
  }

  Driver driver_;
  Allocator& allocator_;
  const AllocationOptions& options_;
  LiveAllocations live_;
  std::optional<DeviceBuffer> target_;
};

}  // namespace

Measurement measure_allocation(const Context& context, const AllocationOptions& options) {
  const CurrentContext current(context);
  try {
    const std::unique_ptr<Allocator> allocator = make_allocator(
        context, {options.kind, options.touch, options.size_bytes, options.num_live});
    if (options.copied && !cpu_reaches(options.kind))
      throw UsageError(std::string("only memory that the CPU reaches is copied, not ") +
                       name_of(options.kind));
    return AllocationLoop(context, *allocator, options).run();
  } catch (const DriverError& error) {
    if (error.code() != CUDA_ERROR_NOT_SUPPORTED) throw;
    throw Unavailable(name_of(options.kind), error.what(), "a driver and a device with it");
  }
}

}  // namespace isthmus::measure

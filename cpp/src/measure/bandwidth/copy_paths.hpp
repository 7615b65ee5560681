// The cost of one copy by each path of Transfers. What is compared takes turns, so that a drift of
// the machine affects all alike.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <isthmus/transfer.hpp>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"
#include "transfer/copy/engine.hpp"

namespace isthmus::measure {

/// How often each contestant takes its turn.
struct Turns {
  std::size_t min_turns = 5;   ///< of each, at least 1
  std::size_t max_turns = 15;  ///< at least `min_turns`
  double max_seconds = 0.1;    ///< for all together, once there are `min_turns`
  /// The time of one turn, in which short contestants run repeatedly. A copy's workers fell asleep
  /// during the others' turns (they spin for 20 us: host::kDefaultSpinTime): a turn is what a program
  /// measures that copies for this long after a pause, including the workers' wake-up.
  double turn_seconds = 100e-6;
  /// A contestant that takes this many times as long as the fastest is left out after a few runs.
  double hopeless = 4;
};

/// Runs something several times, and returns the seconds of one run.
using Contestant = std::function<double(std::size_t num_runs)>;

/// Times of one contestant.
struct Times {
  std::vector<double> seconds;  ///< for one run, in the order taken; only one if hopeless
  std::size_t runs_per_turn = 1;
};

/// Lets contestants take turns; each time another one begins. All should have run before.
///
/// Throws      UsageError for impossible turns; what a contestant throws.
std::vector<Times> take_turns(const std::vector<Contestant>& contestants, const Turns& turns);

/// Runs the kernel by which the driver sets memory. Before a context's first kernel, the driver
/// answers sooner whether a stream has work: on an H200 (driver 580) cuStreamQuery takes 0.16 us
/// before it and 1.3 us from then on, until the program pins or allocates memory. The driver's
/// copies ask it, and so do copies through windows that are ordered behind a stream's work.
/// Programs run kernels, so copies are measured after one.
class AfterKernels {
public:
  explicit AfterKernels(const Context& context);

  /// Returns when the kernel has ended. Throws DriverError.
  void run() const;

private:
  DeviceBuffer memory_;
  Stream stream_;
};

struct CopyPathsOptions {
  std::vector<CopyPath> paths;  ///< to compare; each once
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  Turns turns;
  /// Before each copy, by turns spinning and sleeping: helper threads fall asleep, and caches become
  /// cold. Then a turn is one copy. 0: copies follow each other.
  double pause_seconds = 0;
};

/// Times of one path.
struct PathTimes {
  CopyPath path = CopyPath::driver;
  Times times;          ///< for one copy, from the call until the bytes have arrived
  std::string absence;  ///< why the path can't be used here; then there are no times
};

/// Times of staged copies with this many threads, including the caller's.
struct RingTimes {
  int num_threads = 0;
  Times times;
};

/// Copies whose path is fixed although the call names none. A kernel runs before each turn: they
/// cost what the copies of a program do that runs kernels. Resources opened by other parts of the
/// program don't make them cheaper. Not for use by two threads at once.
class CopyPaths {
public:
  explicit CopyPaths(const Context& context);

  /// Times blocking copies of one size by several paths in turns, between the first bytes of both
  /// buffers, with the device's context current. Everything that a path needs (a window, threads,
  /// pinned slots) is created before. The result of each path's first copy is compared in full on
  /// the host, and at the end the first 4 MiB.
  ///
  /// Throws      UsageError (size, turns, pause), CorruptTransfer, DriverError.
  std::vector<PathTimes> measure(CopyBuffers& buffers, const CopyPathsOptions& options);

  /// Times staged copies with several numbers of threads in turns, as measure() does. The bytes are
  /// compared at the end.
  ///
  /// Returns     at least one entry: if there is no choice, the only possible number, untimed
  std::vector<RingTimes> measure_ring(CopyBuffers& buffers, Direction direction,
                                      std::size_t size_bytes, const Turns& turns);
  /// Sets the threads of all later staged copies.
  void use_ring_threads(const transfer::RingThreads& threads);

  std::vector<PathUse> stats() const { return engine_->statistics().uses(); }

private:
  class Crossing;
  /// Copies by one path and compares the bytes that arrived.
  void copy_verified(CopyBuffers& buffers, const Crossing& crossing, CopyPath path);
  static void verify_end(CopyBuffers& buffers, const Crossing& crossing);
  Contestant contestant(const Crossing& crossing, CopyPath path, double pause_seconds);
  transfer::DevicePaths& ways() { return engine_->paths(context_.device().ordinal); }

  Context context_;
  AfterKernels after_kernels_;
  std::unique_ptr<transfer::Engine> engine_;
  /// profiles_[path] makes that path the cheapest.
  std::array<std::shared_ptr<const transfer::Profile>, transfer::kAllPaths.size()> profiles_;
};

/// The numbers of threads to try if at most `max_threads` are available; ascending.
std::vector<int> ring_thread_counts(int max_threads);

}  // namespace isthmus::measure

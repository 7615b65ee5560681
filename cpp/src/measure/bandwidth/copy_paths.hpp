// What one copy costs by each of the ways that Transfers have.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <isthmus/transfer.hpp>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"
#include "measure/loops/turns.hpp"
#include "transfer/copy/engine.hpp"

namespace isthmus::measure {

struct CopyPathsOptions {
  std::vector<CopyPath> paths;  ///< that are compared; each once
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  Turns turns;
};

/// Of one path.
struct PathTimes {
  CopyPath path = CopyPath::driver;
  Times times;          ///< of one copy, from the call until the bytes are there
  std::string absence;  ///< why it can't here; there are no times then
};

/// Of staged copies by so many threads, the caller's included.
struct RingTimes {
  int num_threads = 0;
  Times times;
};

/// Copies whose way is fixed, though the call doesn't name one: they cost what a program's do.
/// Nothing that another part of the program has opened makes them cheaper. Not to be used by two
/// threads at once.
class CopyPaths {
public:
  explicit CopyPaths(const Context& context);

  /// Times blocking copies of one size by several ways in turns, between the first bytes of both
  /// buffers, with the device's context current. Everything that a way needs (a window, threads,
  /// pinned slots) is there before. The bytes that each way's first copy brings are compared on the
  /// host, and the first 4 MiB of those that are there in the end.
  ///
  /// Throws      UsageError (size, turns), CorruptTransfer, DriverError.
  std::vector<PathTimes> measure(CopyBuffers& buffers, const CopyPathsOptions& options);

  /// Times staged copies with several numbers of threads in turns, as measure() does. Their bytes
  /// are compared in the end.
  ///
  /// Returns     one number at least: the only one, untimed, where there is no choice
  std::vector<RingTimes> measure_ring(CopyBuffers& buffers, Direction direction,
                                      std::size_t size_bytes, const Turns& turns);
  /// Of staged copies from now on.
  void use_ring_threads(const transfer::RingThreads& threads);

  std::vector<PathUse> stats() const { return engine_->statistics.uses(); }

private:
  class Crossing;
  /// Copies by one way and compares what has arrived.
  void copy_verified(CopyBuffers& buffers, const Crossing& crossing, CopyPath path);
  static void verify_end(CopyBuffers& buffers, const Crossing& crossing);
  Contestant contestant(const Crossing& crossing, CopyPath path);
  transfer::DevicePaths& ways() { return engine_->paths(context_.device().ordinal); }

  Context context_;
  std::unique_ptr<transfer::Engine> engine_;
  /// By which each way is the cheapest.
  std::array<std::shared_ptr<const transfer::Profile>, transfer::kNumPaths> profiles_;
};

/// Numbers of threads that are tried where at most so many can be had; ascending.
std::vector<int> ring_thread_counts(int max_threads);

}  // namespace isthmus::measure

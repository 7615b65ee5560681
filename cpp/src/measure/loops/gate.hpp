// Holds a stream, so that the time to enqueue work isn't part of its measured time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "measure/loops/failures.hpp"

namespace isthmus::measure {

/// A gate in a stream: work enqueued after hold() starts only after release().
///
/// Made of cuStreamWaitValue32 on a flag in pinned memory or, if the device lacks that, of a kernel
/// that polls the flag. Nothing that synchronises with the stream or the device may be called while
/// it is held. If release() doesn't come in time (for example, because the enqueueing thread is
/// stuck), a watchdog thread releases the stream, and release() then throws.
class Gate {
public:
  /// kernels   null: only cuStreamWaitValue32 will do
  /// timeout   how long the stream may be held, > 0
  /// Throws    Unavailable if the device has no stream memory operations and `kernels` is null.
  Gate(const Context& context, const Kernels* kernels, std::chrono::duration<double> timeout);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Blocks `stream` from here on. Returns at once. Throws DriverError, and then doesn't block the
  /// stream.
  void hold(CUstream stream);

  /// Releases the stream. Throws TimedOut if the watchdog already did.
  void release();

private:
  void watch();
  void open() noexcept;
  void enqueue_wait(CUstream stream);

  Context context_;
  std::chrono::duration<double> timeout_;
  PinnedBuffer flag_;
  CUdeviceptr flag_on_device_;
  std::optional<Kernel> kernel_;  ///< null: cuStreamWaitValue32 is used
  std::uint32_t round_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  bool timed_out_ = false;
  bool ending_ = false;
  std::thread watchdog_;
};

}  // namespace isthmus::measure

// Ownership of a native object whose end may block on the device.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "device/kernels.hpp"
#include "gil.hpp"
#include "measure/loops/copy_buffers.hpp"

/// Owns a T; gives up the GIL while T ends.
///
/// cuMemFree waits for all work of the device, and releasing a primary context takes its time:
/// other Python threads, and the handling of Ctrl-C, go on meanwhile.
template <typename T>
class Unlocked {
public:
  explicit Unlocked(T&& object) : owned_(std::make_unique<T>(std::move(object))) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    const GilReleased released;
    owned_.reset();
  }

  T& operator*() const noexcept { return *owned_; }
  T* operator->() const noexcept { return owned_.get(); }

private:
  std::unique_ptr<T> owned_;
};

using SharedContext = Unlocked<isthmus::Context>;
using SharedKernels = Unlocked<isthmus::Kernels>;
using SharedBuffers = Unlocked<isthmus::measure::CopyBuffers>;

/// None in Python is a null pointer below.
inline const isthmus::Kernels* kernels_of(const SharedKernels* kernels) {
  return kernels == nullptr ? nullptr : &**kernels;
}

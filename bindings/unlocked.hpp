// Owns a native object whose destructor may block on the device.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "bindings/gil.hpp"
#include "device/kernels.hpp"
#include "measure/loops/copy_buffers.hpp"

/// Owns a T; releases the GIL while T is destroyed.
///
/// cuMemFree waits for all work of the device, and releasing a primary context takes long; other
/// Python threads and Ctrl-C continue to work meanwhile.
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

/// Python's None is a null pointer here.
inline const isthmus::Kernels* kernels_of(const SharedKernels* kernels) {
  return kernels == nullptr ? nullptr : &**kernels;
}

// Owns a driver handle: freed once, by its own release function, with its context current.
#pragma once

#include <utility>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "device/context.hpp"

namespace isthmus {

/// Owns a handle and keeps its context alive. Movable; empty after a move.
template <typename HandleType>
class Owned {
public:
  using Release = CUresult (*)(HandleType);

  /// release   frees the handle; called at most once, with the context current
  /// name      the function's name, for the report if it fails; must outlive this object
  Owned(Context context, HandleType handle, Release release, std::string_view name)
      : context_(std::move(context)), handle_(handle), release_(release), name_(name) {}

  Owned(Owned&& other) noexcept
      : context_(std::move(other.context_)),
        handle_(std::exchange(other.handle_, HandleType{})),
        release_(other.release_),
        name_(other.name_) {}

  Owned& operator=(Owned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    std::swap(name_, other.name_);
    return *this;
  }

  ~Owned() {
    if (handle_ == HandleType{} || !context_.in_own_process()) return;
    const Driver& driver = context_.driver();
    const ScopedRelaxedCapture relaxed(driver);  // freeing is not part of a capture
    const CUresult pushed = driver.raw(symbol::ctx_push_current)(context_.handle());
    report_cleanup(driver, pushed, symbol::ctx_push_current.name);
    // Release even if the push failed: the context may be current already, and a leak is worse than
    // an error.
    report_cleanup(driver, release_(handle_), name_);
    CUcontext popped = nullptr;
    if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
  }

  HandleType handle() const noexcept { return handle_; }
  const Context& context() const noexcept { return context_; }

private:
  Context context_;
  HandleType handle_;
  Release release_;
  std::string_view name_;
};

}  // namespace isthmus

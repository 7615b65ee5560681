// An emulated driver of a chosen profile, and its controls.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/driver.hpp"
#include "faults/emulator_controls.hpp"

namespace isthmus::emulated {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;

using Controls = test::EmulatorControls;

/// A test on one emulated machine, which it restores: nothing alive, no pending failures.
class EmulatedMachine : public testing::Test {
protected:
  explicit EmulatedMachine(const std::string& profile = "small")
      : driver_(Driver::open("emulated:" + profile)), controls_(driver_) {}

  ~EmulatedMachine() override {
    controls_.reset();
    if (context_ != nullptr) {
      CUcontext popped = nullptr;
      driver_.raw(symbol::ctx_pop_current)(&popped);
      driver_.raw(symbol::primary_ctx_release)(context_ordinal_);
    }
    EXPECT_EQ(controls_.live().contexts, 0u);
    EXPECT_EQ(controls_.live().device_bytes, 0u);
  }

  const Driver& driver() const { return driver_; }
  const Controls& controls() const { return controls_; }

  /// Makes the device's primary context current. Everything created in it is released with it.
  CUcontext enter(CUdevice ordinal = 0) {
    driver_.call(symbol::primary_ctx_retain)(&context_, ordinal);
    driver_.call(symbol::ctx_push_current)(context_);
    context_ordinal_ = ordinal;
    return context_;
  }

  CUdeviceptr device_memory(std::size_t size_bytes) {
    CUdeviceptr address = 0;
    driver_.call(symbol::mem_alloc)(&address, size_bytes);
    return address;
  }
  std::byte* pinned_memory(std::size_t size_bytes) {
    void* host = nullptr;
    driver_.call(symbol::mem_host_alloc)(&host, size_bytes, 0u);
    return static_cast<std::byte*>(host);
  }
  CUstream stream() {
    CUstream made = nullptr;
    driver_.call(symbol::stream_create)(&made, unsigned{CU_STREAM_NON_BLOCKING});
    return made;
  }
  CUevent event() {
    CUevent made = nullptr;
    driver_.call(symbol::event_create)(&made, unsigned{CU_EVENT_DEFAULT});
    return made;
  }
  CUevent record(CUstream where) {
    const CUevent point = event();
    driver_.call(symbol::event_record)(point, where);
    return point;
  }
  double seconds_between(CUevent first, CUevent last) {
    float milliseconds = -1;
    driver_.call(symbol::event_elapsed_time)(&milliseconds, first, last);
    return static_cast<double>(milliseconds) / 1e3;
  }
  void synchronize(CUstream where) { driver_.call(symbol::stream_synchronize)(where); }
  CUresult query(CUstream where) { return driver_.raw(symbol::stream_query)(where); }

  CUfunction kernel(const std::string& stem, const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    const std::string image = "isthmus-kernels:" + stem;
    driver_.call(symbol::module_load_data)(&module, image.c_str());
    driver_.call(symbol::module_get_function)(&function, module, name);
    return function;
  }
  template <typename... Parameters>
  void launch(CUfunction function, CUstream where, Parameters... parameters) {
    void* pointers[] = {&parameters...};
    driver_.call(symbol::launch_kernel)(function, 2u, 1u, 1u, 32u, 1u, 1u, 0u, where, pointers,
                                        nullptr);
  }

  std::string call_log() const { return controls_.call_log(); }

private:
  Driver driver_;
  Controls controls_;
  CUcontext context_ = nullptr;
  CUdevice context_ordinal_ = 0;
};

}  // namespace isthmus::emulated

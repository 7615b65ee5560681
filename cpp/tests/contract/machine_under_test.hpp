// The driver that the contract is tested on: the one that ISTHMUS_DRIVER names, real or emulated.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "sizes.hpp"

namespace isthmus::contract {

using Bytes = std::vector<std::uint8_t>;

/// A flag in pinned memory for which streams can wait. Its destructor opens it, so that a failing
/// test doesn't leave a stream blocked.
class Gate {
public:
  Gate(const Driver& driver, std::uint32_t* flag, CUdeviceptr device_flag)
      : driver_(driver), flag_(flag), device_flag_(device_flag) {
    set(0);
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Blocks `stream` from here on until the flag is 1 or more.
  void hold(CUstream stream) { hold(stream, 1, CU_STREAM_WAIT_VALUE_GEQ); }
  void hold(CUstream stream, std::uint32_t value, unsigned int condition) {
    driver_.call(symbol::stream_wait_value32)(stream, device_flag_, value, condition);
  }
  void open() { set(kOpen); }
  void set(std::uint32_t value) {
    std::atomic_ref<std::uint32_t>(*flag_).store(value, std::memory_order_release);
  }

  /// Satisfies every condition that the tests wait for.
  static constexpr std::uint32_t kOpen = 1;

private:
  const Driver& driver_;
  std::uint32_t* flag_;
  CUdeviceptr device_flag_;
};

/// A test with a current context, whose resources are released at its end.
class MachineUnderTest : public testing::Test {
protected:
  /// The driver of the whole program. Skips nothing by itself: see SetUp.
  static const Driver& driver() {
    static const Driver opened = Driver::open();
    return opened;
  }

  /// Keeps the primary context alive for the whole program: creating one takes 0.2 s on a real
  /// device. Emulated contexts cost nothing, and other tests need none alive when they change the
  /// emulated machine.
  static void SetUpTestSuite() {
    static const bool kept = [] {
      CUcontext context = nullptr;
      return !driver().emulated() && driver().device_count() > 0 &&
             driver().raw(symbol::primary_ctx_retain)(&context, 0) == CUDA_SUCCESS;
    }();
    (void)kept;
  }

  void SetUp() override {
    if (driver().device_count() == 0) GTEST_SKIP() << "the driver has no device";
    driver().call(symbol::primary_ctx_retain)(&context_, 0);
    driver().call(symbol::ctx_push_current)(context_);
  }

  void TearDown() override {
    if (context_ == nullptr) return;
    EXPECT_EQ(driver().raw(symbol::ctx_synchronize)(), CUDA_SUCCESS);
    while (!cleanup_.empty()) {
      cleanup_.back()();
      cleanup_.pop_back();
    }
    CUcontext popped = nullptr;
    EXPECT_EQ(driver().raw(symbol::ctx_pop_current)(&popped), CUDA_SUCCESS);
    EXPECT_EQ(driver().raw(symbol::primary_ctx_release)(0), CUDA_SUCCESS);
  }

  CUcontext context() const { return context_; }

  CUdeviceptr device_memory(std::size_t size_bytes) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc)(&address, size_bytes);
    at_end([=] { return driver().raw(symbol::mem_free)(address); });
    return address;
  }

  CUdeviceptr managed_memory(std::size_t size_bytes) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc_managed)(&address, size_bytes, unsigned{CU_MEM_ATTACH_GLOBAL});
    at_end([=] { return driver().raw(symbol::mem_free)(address); });
    return address;
  }

  /// Free memory of the device.
  std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    driver().call(symbol::mem_get_info)(&free, &total);
    EXPECT_LE(free, total);
    return free;
  }

  /// Pinned memory, zeroed.
  template <typename Value = std::uint8_t>
  Value* pinned_memory(std::size_t count) {
    void* host = nullptr;
    driver().call(symbol::mem_host_alloc)(&host, count * sizeof(Value), 0u);
    at_end([=] { return driver().raw(symbol::mem_free_host)(host); });
    std::uninitialized_value_construct_n(static_cast<Value*>(host), count);
    return static_cast<Value*>(host);
  }

  CUstream stream(unsigned int flags = CU_STREAM_NON_BLOCKING) {
    CUstream made = nullptr;
    driver().call(symbol::stream_create)(&made, flags);
    at_end([=] { return driver().raw(symbol::stream_destroy)(made); });
    return made;
  }

  CUevent event(unsigned int flags = CU_EVENT_DEFAULT) {
    CUevent made = nullptr;
    driver().call(symbol::event_create)(&made, flags);
    at_end([=] { return driver().raw(symbol::event_destroy)(made); });
    return made;
  }

  CUdeviceptr device_pointer(void* pinned) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_host_get_device_pointer)(&address, pinned, 0u);
    return address;
  }

  /// A gate. Declare it after everything that waits for it, so that it opens first.
  Gate gate() {
    auto* flag = pinned_memory<std::uint32_t>(1);
    return {driver(), flag, device_pointer(flag)};
  }

  void synchronize(CUstream stream) { driver().call(symbol::stream_synchronize)(stream); }
  CUresult query(CUstream stream) { return driver().raw(symbol::stream_query)(stream); }
  float milliseconds_between(CUevent first, CUevent last) {
    float milliseconds = -1;
    driver().call(symbol::event_elapsed_time)(&milliseconds, first, last);
    return milliseconds;
  }

  /// Bytes that differ from their neighbours, and for each seed from those of other seeds. Eight at
  /// once: tests aren't optimised.
  static Bytes pattern(std::size_t size_bytes, unsigned seed) {
    Bytes bytes(size_bytes);
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (std::size_t at = 0; at < size_bytes; at += sizeof state) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t mixed = state ^ state >> 32U;
      std::memcpy(bytes.data() + at, &mixed, std::min(sizeof mixed, size_bytes - at));
    }
    return bytes;
  }

  Bytes on_device(CUdeviceptr address, std::size_t size_bytes) {
    Bytes bytes(size_bytes);
    driver().call(symbol::memcpy_dtoh)(bytes.data(), address, size_bytes);
    return bytes;
  }
  void send_to_device(CUdeviceptr address, const Bytes& bytes) {
    driver().call(symbol::memcpy_htod)(address, bytes.data(), bytes.size());
    driver().call(symbol::ctx_synchronize)();
  }
  void fill(CUdeviceptr address, std::size_t size_bytes, std::uint8_t value) {
    driver().call(symbol::memset_d8_async)(address, value, size_bytes, nullptr);
    synchronize(nullptr);
  }

  template <typename Value>
  Value attribute(CUpointer_attribute which, CUdeviceptr address) {
    Value value{};
    driver().call(symbol::pointer_get_attribute)(&value, which, address);
    return value;
  }

  /// Calls `release` after the test, in reverse order; it must succeed.
  void at_end(std::function<CUresult()> release) {
    cleanup_.emplace_back([=] { EXPECT_EQ(release(), CUDA_SUCCESS); });
  }

private:
  CUcontext context_ = nullptr;
  std::vector<std::function<void()>> cleanup_;
};

}  // namespace isthmus::contract

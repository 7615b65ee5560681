// An emulated machine with buffers, and what every way to map them must keep.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <isthmus/errors.hpp>

#include "expectations.hpp"
#include "window/backend.hpp"
#include "window/created_memory.hpp"
#include "window/fakes/fake_kernel.hpp"

namespace isthmus::fuzz {

/// One for the process: the driver is opened once.
class WindowMachine {
public:
  static WindowMachine& instance() {
    static WindowMachine machine;
    return machine;
  }

  const Driver& driver() const { return driver_; }
  const Context& context() const { return context_; }

  /// Of cudaMalloc, and of cuMemCreate: exportable, and without a handle.
  std::array<window::Allocation, 3> allocations() const {
    const auto at = [this](CUdeviceptr pointer) {
      return window::allocations_of(driver_, pointer, 1).front();
    };
    return {at(malloced_), at(exportable_.pointer()), at(handleless_.pointer())};
  }

private:
  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;

  WindowMachine()
      : driver_(Driver::open("emulated:small")),
        context_(Context::retain(driver_, 0)),
        current_(context_),
        exportable_(context_, kBufferBytes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        handleless_(context_, kBufferBytes, CU_MEM_HANDLE_TYPE_NONE) {
    driver_.call(symbol::mem_alloc)(&malloced_, kBufferBytes);
  }

  Driver driver_;
  Context context_;
  CurrentContext current_;
  window::CreatedMemory exportable_;
  window::CreatedMemory handleless_;
  CUdeviceptr malloced_ = 0;
};

/// Opens a backend and maps pages of each kind of memory. Whatever the kernel answers: pages that
/// can be written to, or Unavailable; and nothing stays open or mapped.
inline void live(const std::function<std::unique_ptr<window::Backend>()>& open,
                 const window::fakes::FakeKernel& kernel) {
  const WindowMachine& machine = WindowMachine::instance();
  constexpr std::size_t kMappedBytes = std::size_t{128} << 10U;
  try {
    const std::unique_ptr<window::Backend> backend = open();
    expect_shown(backend->notice());
    for (const window::Allocation& allocation : machine.allocations()) {
      try {
        const auto pages =
            backend->map(machine.context(), allocation, {allocation.base, kMappedBytes}, nullptr);
        expect(pages->size_bytes() == kMappedBytes, "another size is mapped than asked for");
        pages->data()[0] = std::byte{1};
        pages->data()[kMappedBytes - 1] = std::byte{1};
      } catch (const Unavailable& refusal) {
        expect_message(refusal);
      }
      expect_shown(backend->description());
    }
  } catch (const Unavailable& refusal) {
    expect_message(refusal);
  }
  expect(kernel.num_open_files() == 0, "a file stays open");
  expect(kernel.num_mappings() == 0, "pages stay mapped");
}

}  // namespace isthmus::fuzz

// An emulated machine with buffers, and what every way to map them must keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <isthmus/errors.hpp>

#include "expectations.hpp"
#include "window/backend.hpp"
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

  /// Of cudaMalloc, or exportable of cuMemCreate.
  window::Allocation allocation(bool created) const {
    return window::allocations_of(driver_, created ? created_ : malloced_, 1).front();
  }

private:
  static constexpr std::size_t kBufferBytes = std::size_t{2} << 20U;

  WindowMachine()
      : driver_(Driver::open("emulated:small")),
        context_(Context::retain(driver_, 0)),
        current_(context_) {
    driver_.call(symbol::mem_alloc)(&malloced_, kBufferBytes);
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    driver_.call(symbol::mem_address_reserve)(&created_, kBufferBytes, std::size_t{0},
                                              CUdeviceptr{0}, 0ULL);
    CUmemGenericAllocationHandle handle = 0;
    driver_.call(symbol::mem_create)(&handle, kBufferBytes, &properties, 0ULL);
    driver_.call(symbol::mem_map)(created_, kBufferBytes, std::size_t{0}, handle, 0ULL);
    driver_.call(symbol::mem_release)(handle);
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    driver_.call(symbol::mem_set_access)(created_, kBufferBytes, &access, std::size_t{1});
  }

  Driver driver_;
  Context context_;
  CurrentContext current_;
  CUdeviceptr malloced_ = 0;
  CUdeviceptr created_ = 0;
};

/// Opens a backend and maps pages of both kinds of memory. Whatever the kernel answers: pages that
/// can be written to, or Unavailable; and nothing stays open or mapped.
inline void live(const std::function<std::unique_ptr<window::Backend>()>& open,
                 const window::fakes::FakeKernel& kernel) {
  const WindowMachine& machine = WindowMachine::instance();
  constexpr std::size_t kMappedBytes = std::size_t{128} << 10U;
  try {
    const std::unique_ptr<window::Backend> backend = open();
    expect_shown(backend->notice());
    for (const bool created : {false, true, false}) {
      try {
        const window::Allocation allocation = machine.allocation(created);
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

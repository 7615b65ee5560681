// Windows on the driver that ISTHMUS_DRIVER names, real or emulated: the same tests for both.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include <isthmus/window.hpp>

#include "contract/machine_under_test.hpp"
#include "device/context.hpp"
#include "eventually.hpp"
#include "messages.hpp"

namespace isthmus::window {

using contract::Bytes;
using contract::kKiB;
using contract::kMiB;
using isthmus::test::eventually;
using isthmus::test::message_of;
using isthmus::test::says;

/// The number in an environment variable, or `otherwise`.
inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// A test with a current context and its own Windows. Declare windows in the test: they must be
/// destroyed before the memory.
class WindowsUnderTest : public contract::MachineUnderTest {
protected:
  void SetUp() override {
    MachineUnderTest::SetUp();
    if (!IsSkipped()) windows_.emplace(driver());
  }
  void TearDown() override {
    windows_.reset();
    MachineUnderTest::TearDown();
  }

  Windows& windows() { return *windows_; }
  void drop_windows() { windows_.reset(); }

  /// Memory that the test frees itself.
  CUdeviceptr allocated(std::size_t size_bytes) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc)(&address, size_bytes);
    return address;
  }
  void free(CUdeviceptr address) { driver().call(symbol::mem_free)(address); }

  static Bytes read(const Window& window, std::size_t offset_bytes, std::size_t size_bytes) {
    Bytes bytes(size_bytes);
    window.read(bytes.data(), offset_bytes, size_bytes);
    return bytes;
  }

  /// Memory of cuMemCreate in one or more adjoining mappings of `granule_bytes()` each.
  CUdeviceptr created_memory(std::size_t num_granules, bool exportable = true) {
    const std::size_t total_bytes = num_granules * granule_bytes();
    CUdeviceptr address = 0;
    driver().call(symbol::mem_address_reserve)(&address, total_bytes, std::size_t{0},
                                               CUdeviceptr{0}, 0ull);
    at_end([=] { return driver().raw(symbol::mem_address_free)(address, total_bytes); });
    for (std::size_t index = 0; index < num_granules; ++index) {
      map_granule(address + index * granule_bytes(), exportable);
    }
    return address;
  }
  static constexpr std::size_t granule_bytes() { return 2 * kMiB; }

private:
  void map_granule(CUdeviceptr address, bool exportable) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    if (exportable) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    driver().call(symbol::mem_create)(&handle, granule_bytes(), &properties, 0ull);
    driver().call(symbol::mem_map)(address, granule_bytes(), std::size_t{0}, handle, 0ull);
    driver().call(symbol::mem_release)(handle);
    at_end([=] { return driver().raw(symbol::mem_unmap)(address, granule_bytes()); });
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    driver().call(symbol::mem_set_access)(address, granule_bytes(), &access, std::size_t{1});
  }

  std::optional<Windows> windows_;
};

}  // namespace isthmus::window

// Windows on the driver that ISTHMUS_DRIVER names, real or emulated: the same tests for both.
#pragma once

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <isthmus/window.hpp>

#include "contract/machine_under_test.hpp"
#include "device/context.hpp"

namespace isthmus::window {

using contract::kKiB;
using contract::kMiB;

/// The number in an environment variable, or `otherwise`.
inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

/// The message of the UsageError that `action` throws; "" if it throws none.
template <typename Action>
std::string usage_error_of(Action action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

/// The whole message of the Unavailable that `action` throws; "" if it throws none.
template <typename Action>
std::string unavailable_of(Action action) {
  try {
    action();
  } catch (const Unavailable& error) {
    return error.what();
  }
  return {};
}

inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

using Bytes = std::vector<std::uint8_t>;

/// Waits for what another thread or a kernel does; false if it takes longer than any test should.
template <typename Condition>
bool eventually(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A test with a current context and a Windows of its own. Declare windows in the test: they have
/// to go before the memory does.
class WindowsUnderTest : public contract::MachineUnderTest {
protected:
  /// Emulated contexts cost nothing to make, and other tests of this program need none to be alive
  /// when they change the emulated machine.
  static void SetUpTestSuite() {
    if (!driver().emulated()) MachineUnderTest::SetUpTestSuite();
  }

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

  void fill(CUdeviceptr address, std::size_t size_bytes, std::uint8_t value) {
    driver().call(symbol::memset_d8_async)(address, value, size_bytes, nullptr);
    synchronize(nullptr);
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
  static Bytes read(const Window& window, std::size_t offset_bytes, std::size_t size_bytes) {
    Bytes bytes(size_bytes);
    window.read(bytes.data(), offset_bytes, size_bytes);
    return bytes;
  }

  CUdeviceptr managed_memory(std::size_t size_bytes) {
    CUdeviceptr address = 0;
    driver().call(symbol::mem_alloc_managed)(&address, size_bytes, unsigned{CU_MEM_ATTACH_GLOBAL});
    at_end([=] { return driver().raw(symbol::mem_free)(address); });
    return address;
  }

  /// Memory of cuMemCreate in one or more mappings that adjoin, `granule_bytes()` each.
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

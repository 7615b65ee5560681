#include "device/device_facts.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include <isthmus/errors.hpp>

namespace isthmus {
namespace {

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  driver.call(symbol::device_get_attribute)(&value, which, device);
  return value;
}

std::string device_name(const Driver& driver, CUdevice device) {
  std::array<char, 256> name{};
  driver.call(symbol::device_get_name)(name.data(), static_cast<int>(name.size()), device);
  return name.data();
}

std::string device_uuid(const Driver& driver, CUdevice device) {
  CUuuid uuid{};
  driver.call(symbol::device_get_uuid)(&uuid, device);
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex.data();
  }
  return text;
}

std::string device_pci_address(const Driver& driver, CUdevice device) {
  std::array<char, 32> address{};
  driver.call(symbol::device_get_pci_bus_id)(address.data(), static_cast<int>(address.size()),
                                             device);
  std::string text = address.data();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void check_ordinal(const Driver& driver, int ordinal) {
  const int count = driver.device_count();
  if (ordinal >= 0 && ordinal < count) return;
  if (count == 0) driver.require_devices();
  throw UsageError("no device " + std::to_string(ordinal) + ": valid are 0 to " +
                   std::to_string(count - 1));
}

}  // namespace

DeviceFacts read_device_facts(const Driver& driver, int ordinal) {
  check_ordinal(driver, ordinal);
  CUdevice device = 0;
  driver.call(symbol::device_get)(&device, ordinal);
  DeviceFacts facts;
  facts.ordinal = ordinal;
  facts.name = device_name(driver, device);
  facts.uuid = device_uuid(driver, device);
  facts.pci_address = device_pci_address(driver, device);
  facts.compute_capability = {
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)};
  driver.call(symbol::device_total_mem)(&facts.total_memory_bytes, device);
  facts.num_multiprocessors = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.num_copy_engines = attribute(driver, device, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  facts.l2_cache_bytes = attribute(driver, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.uses_host_page_tables =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) !=
      0;
  facts.cuda_version = driver.version();
  // There is no attribute for 32-bit waits; a device may still refuse them when they are used.
  facts.stream_memory_operations = driver.has(symbol::stream_wait_value32);
  return facts;
}

}  // namespace isthmus

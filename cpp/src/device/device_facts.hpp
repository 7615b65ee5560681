// What the driver says about one device, read once.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "driver/driver.hpp"

namespace isthmus {

struct DeviceFacts {
  int ordinal = 0;
  std::string name;
  std::string uuid;         ///< "GPU-8-4-4-4-12" in lower-case hex, as nvidia-smi prints it
  std::string pci_address;  ///< "0000:01:00.0", lower case, as sysfs spells it
  std::pair<int, int> compute_capability;
  std::size_t total_memory_bytes = 0;
  int num_multiprocessors = 0;
  int num_copy_engines = 0;
  int l2_cache_bytes = 0;
  bool stream_memory_operations = false;  ///< the driver has cuStreamWaitValue32
  /// The device walks the CPU's page tables in hardware: NVLink-C2C joins it to the CPU.
  bool uses_host_page_tables = false;
  int cuda_version = 0;  ///< implemented by the driver: 13000 is CUDA 13.0
};

/// Reads the facts of device `ordinal`.
///
/// Throws   UsageError if there is no such device.
DeviceFacts read_device_facts(const Driver& driver, int ordinal);

}  // namespace isthmus

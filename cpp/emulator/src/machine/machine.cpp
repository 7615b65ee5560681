// cuInit, cuDriverGetVersion, cuDevice*: the devices and their attributes.
#include "machine/machine.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "api/call.hpp"
#include "api/context.hpp"

namespace isthmus::emulator {

EmulatedMachine::EmulatedMachine() : active_profile(&all_profiles().front()) {
  for (std::size_t ordinal = 0; ordinal < devices.size(); ++ordinal) {
    prepare(devices[ordinal].context, static_cast<int>(ordinal));
  }
  // Its threads don't exist in a child, and its locks may be held for ever.
  pthread_atfork(nullptr, nullptr, [] {
    machine().forked = machine().initialised.load();
    machine().initialised = false;
  });
}

void prepare(Context& context, int ordinal) {
  context.ordinal = ordinal;
  context.default_stream = std::make_shared<Stream>();
  context.default_stream->context = &context;
}

EmulatedMachine& machine() {
  static auto& machine = *new EmulatedMachine;
  return machine;
}

namespace {

/// A PCI domain that no machine has, so that nothing mistakes an emulated device for one in a real
/// slot.
constexpr int kPciDomain = 0xffff;
constexpr int kComputeCapabilityMajor = 9;
constexpr int kNumMultiprocessors = 16;
constexpr int kL2CacheBytes = 1024 * 1024;

int pci_bus(CUdevice device) { return device + 1; }

int attribute_value(CUdevice_attribute attribute, CUdevice device) {
  const bool memory_operations = machine().profile().stream_memory_operations;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return kComputeCapabilityMajor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return kNumMultiprocessors;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:  // a warp is one lane wide here
      return 1;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:  // one for each direction
      return 2;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return kL2CacheBytes;
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
      return kPciDomain;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return pci_bus(device);
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      return 1;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
      return memory_operations ? 1 : 0;
    default:
      return 0;
  }
}

/// Version 8 ("custom"), so that it can't be a real UUID; "ISTHMU" and "EMUL" are readable in a
/// dump.
CUuuid uuid_of(CUdevice device) {
  std::array<unsigned char, sizeof(CUuuid::bytes)> bytes{'I',  'S', 'T', 'H', 'M', 'U', 0x85, 'S',
                                                         0x80, 'E', 'M', 'U', 'L', 0,   0,    0};
  bytes.back() = static_cast<unsigned char>(device);
  CUuuid uuid;
  std::memcpy(uuid.bytes, bytes.data(), bytes.size());
  return uuid;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuInit(unsigned int flags) {
  return Call("cuInit")([&] {
    require(flags == 0);
    require(machine().profile().num_devices > 0, CUDA_ERROR_NO_DEVICE);
    require(!machine().forked, CUDA_ERROR_NOT_INITIALIZED);
    machine().initialised = true;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  return Call("cuDriverGetVersion")([&] {
    require(version != nullptr);
    *version = machine().profile().driver_version;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  return Call("cuDeviceGetCount")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(count != nullptr);
    *count = machine().profile().num_devices;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  return Call("cuDeviceGet")([&] {
    device_at(ordinal);
    require(device != nullptr);
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetName(char* name, int capacity, CUdevice device) {
  return Call("cuDeviceGetName")([&] {
    device_at(device);
    require(name != nullptr && capacity > 0);
    const std::string_view text = machine().profile().device_name;
    const std::size_t length = std::min(text.size(), static_cast<std::size_t>(capacity) - 1);
    text.copy(name, length);
    name[length] = '\0';
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return Call("cuDeviceGetUuid")([&] {
    device_at(device);
    require(uuid != nullptr);
    *uuid = uuid_of(device);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* address, int capacity, CUdevice device) {
  return Call("cuDeviceGetPCIBusId")([&] {
    device_at(device);
    require(address != nullptr && capacity > 0);
    std::snprintf(address, static_cast<std::size_t>(capacity), "%04X:%02X:00.0", kPciDomain,
                  pci_bus(device));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return Call("cuDeviceGetAttribute")([&] {
    device_at(device);
    require(value != nullptr && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX);
    *value = attribute_value(attribute, device);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceTotalMem(std::size_t* size_bytes, CUdevice device) {
  return Call("cuDeviceTotalMem")([&] {
    device_at(device);
    require(size_bytes != nullptr);
    *size_bytes = machine().profile().memory_bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"

// The part of NVIDIA's resource manager ABI that windows use: ioctls on /dev/nvidiactl and
// /dev/nvidiaN, and their arguments.
//
// Private: NVIDIA may change it in any release. rm_versions.hpp lists the versions it was tested
// on. Source: nv-ioctl.h, nv_escape.h, nvos.h, ctrl0000client.h, ctrl0000gpu.h, ctrl0000unix.h,
// ctrl0041.h, cl0080.h and ctrl2080fb.h of NVIDIA's open GPU kernel modules, releases 525 to 595
// (the size in ctrl0041.h: 580 to 595).
#pragma once

#include <sys/ioctl.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace isthmus::window::rm {

using Handle = std::uint32_t;
using Status = std::uint32_t;

inline constexpr Status kOk = 0;

enum class Escape : unsigned {
  free = 0x29,
  control = 0x2a,
  alloc = 0x2b,
  dup_object = 0x34,
  map_memory = 0x4e,
  unmap_memory = 0x4f,
  card_info = 200,
  register_descriptor = 201,
  check_version = 210,
};

/// The ioctl number of an escape with an argument of this size.
constexpr unsigned long request(Escape escape, std::size_t argument_bytes) {
  return _IOC(_IOC_READ | _IOC_WRITE, 'F', static_cast<unsigned>(escape), argument_bytes);
}

enum class Class : std::uint32_t { root = 0x41, device = 0x80, subdevice = 0x2080 };

enum class Command : std::uint32_t {
  gpu_get_id_info = 0x205,
  import_objects_from_descriptor = 0x3d0c,
  memory_get_surface_info = 0x410110,
  fb_get_info = 0x20801301,
};

struct Alloc {
  Handle root;
  Handle parent;
  Handle object;
  std::uint32_t object_class;
  std::uint64_t parameters;
  std::uint32_t parameters_bytes;
  Status status;
};
static_assert(sizeof(Alloc) == 32);

struct Free {
  Handle root;
  Handle parent;
  Handle object;
  Status status;
};
static_assert(sizeof(Free) == 16);

struct Control {
  Handle client;
  Handle object;
  std::uint32_t command;
  std::uint32_t flags;
  std::uint64_t parameters;
  std::uint32_t parameters_bytes;
  Status status;
};
static_assert(sizeof(Control) == 32);

struct DupObject {
  Handle client;
  Handle parent;
  Handle object;
  Handle source_client;
  Handle source_object;
  std::uint32_t flags;
  Status status;
};
static_assert(sizeof(DupObject) == 28);

struct MapMemory {
  Handle client;
  Handle device;
  Handle memory;
  std::uint32_t reserved;
  std::uint64_t offset;
  std::uint64_t length;
  std::uint64_t address;
  Status status;
  std::uint32_t flags;
  std::int32_t descriptor;
  std::uint32_t reserved_end;
};
static_assert(sizeof(MapMemory) == 56);

struct UnmapMemory {
  Handle client;
  Handle device;
  Handle memory;
  std::uint32_t reserved;
  std::uint64_t address;
  Status status;
  std::uint32_t flags;
};
static_assert(sizeof(UnmapMemory) == 32);

struct DeviceParameters {
  std::uint32_t device_instance;
  Handle share_client;
  Handle target_client;
  Handle target_device;
  std::uint32_t flags;
  std::uint32_t reserved;
  std::uint64_t address_space_bytes;
  std::uint64_t address_space_begin;
  std::uint64_t address_space_limit;
  std::uint32_t address_space_mode;
  std::uint32_t reserved_end;
};
static_assert(sizeof(DeviceParameters) == 56);

struct SubdeviceParameters {
  std::uint32_t subdevice_instance;
};

struct CardInfo {
  std::uint8_t valid;
  std::uint32_t pci_domain;
  std::uint8_t pci_bus;
  std::uint8_t pci_slot;
  std::uint8_t pci_function;
  std::uint16_t pci_vendor;
  std::uint16_t pci_device;
  std::uint32_t gpu_id;
  std::uint16_t interrupt_line;
  alignas(8) std::uint64_t registers_address;
  std::uint64_t registers_bytes;
  std::uint64_t bar1_address;
  std::uint64_t bar1_bytes;
  std::uint32_t minor_number;
  std::array<std::uint8_t, 10> name;
};
static_assert(sizeof(CardInfo) == 72);
inline constexpr std::size_t kMaxCards = 32;

struct GpuIdInfo {
  std::uint32_t gpu_id;
  std::uint32_t flags;
  std::uint32_t device_instance;
  std::uint32_t subdevice_instance;
  std::uint32_t sli_status;
  std::uint32_t board_id;
  std::uint32_t gpu_instance;
  std::int32_t numa_node;
};
static_assert(sizeof(GpuIdInfo) == 32);

inline constexpr std::size_t kMaxImportedObjects = 128;

struct ImportObjects {
  std::int32_t descriptor;
  Handle parent;
  std::array<Handle, kMaxImportedObjects> objects;
  std::array<std::uint8_t, kMaxImportedObjects> types;
  std::uint16_t num_objects;
  std::uint16_t first_index;
};
static_assert(sizeof(ImportObjects) == 652);

/// A question and its answer.
struct InfoEntry {
  std::uint32_t index;
  std::uint32_t value;
};
/// The parameters of fb_get_info and of memory_get_surface_info.
struct InfoList {
  std::uint32_t num_entries;
  std::uint32_t reserved;
  std::uint64_t entries;
};
static_assert(sizeof(InfoList) == 16);

// Indices of fb_get_info, in KiB.
inline constexpr std::uint32_t kFbInfoBar1Size = 0x05;
inline constexpr std::uint32_t kFbInfoBar1Available = 0x1d;

// Indices of memory_get_surface_info: the size in bytes, and where the memory lies.
inline constexpr std::uint32_t kSurfaceInfoSizeLow = 0x02;
inline constexpr std::uint32_t kSurfaceInfoSizeHigh = 0x03;
inline constexpr std::uint32_t kSurfaceInfoAddressSpace = 0x09;

/// Where a memory object lies. The resource manager answers `other` for fabric and multicast
/// memory.
enum class AddressSpace : std::uint32_t { other = 0, host = 1, video = 2, registers = 3 };

struct RegisterDescriptor {
  std::int32_t control_descriptor;
};

struct CheckVersion {
  std::uint32_t command;
  std::uint32_t reply;
  std::array<char, 64> version;
};
inline constexpr std::uint32_t kQueryVersion = '2';

}  // namespace isthmus::window::rm

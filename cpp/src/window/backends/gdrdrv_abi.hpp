// The ioctls of /dev/gdrdrv that a window needs, as the kernel module declares them.
//
// Source: NVIDIA/gdrcopy, src/gdrdrv/gdrdrv.h and gdrdrv.c as of versions 2.3 and 2.4, and how
// src/gdrapi.c of version 2.6 uses them.
#pragma once

#include <sys/ioctl.h>

#include <cstddef>
#include <cstdint>

namespace isthmus::window::gdrdrv {

inline constexpr const char* kDeviceFile = "/dev/gdrdrv";

/// The module pins whole pages of this size, and maps a pin only from its beginning.
inline constexpr std::size_t kGpuPageBytes = std::size_t{64} << 10U;

/// Versions are 16 bits of major above 16 bits of minor.
constexpr std::uint32_t version_of(std::uint32_t major, std::uint32_t minor) {
  return major << 16U | minor;
}
constexpr std::uint32_t major_of(std::uint32_t version) { return version >> 16U; }
constexpr std::uint32_t minor_of(std::uint32_t version) { return version & 0xffffU; }

inline constexpr std::uint32_t kOldestVersion = version_of(2, 0);
/// The newest version whose library source we have read.
inline constexpr std::uint32_t kNewestKnownVersion = version_of(2, 6);
/// The first version with GetInfoV2 and GetAttribute.
inline constexpr std::uint32_t kVersionWithMappingType = version_of(2, 4);
/// The interface version of the newest calls made here. A module that requires a newer one may have
/// dropped these calls.
inline constexpr std::uint32_t kSpokenInterface = version_of(2, 4);

struct PinBuffer {
  std::uint64_t address;  ///< device, a multiple of kGpuPageBytes; otherwise it can't be mapped
  std::uint64_t size_bytes;
  std::uint64_t p2p_token;  ///< 0: not needed since CUDA 6
  std::uint32_t va_space;   ///< 0, likewise
  std::uint64_t handle;     ///< out; 0 is a valid handle
};
static_assert(sizeof(PinBuffer) == 40 && offsetof(PinBuffer, handle) == 32);

struct UnpinBuffer {
  std::uint64_t handle;
};
static_assert(sizeof(UnpinBuffer) == 8);

struct GetInfo {
  std::uint64_t handle;
  std::uint64_t address;  ///< out, like all members below
  std::uint64_t mapped_bytes;
  std::uint32_t page_bytes;
  std::uint32_t tsc_khz;
  std::uint64_t pin_cycles;
  std::uint32_t mapped;
  std::uint32_t write_combined;
};
static_assert(sizeof(GetInfo) == 48 && offsetof(GetInfo, mapped) == 40);

enum class MappingType : std::uint32_t { none = 0, write_combined = 1, cached = 2, device = 3 };

struct GetInfoV2 {
  std::uint64_t handle;
  std::uint64_t address;  ///< out, like all members below
  std::uint64_t mapped_bytes;
  std::uint32_t page_bytes;
  std::uint32_t tsc_khz;
  std::uint64_t pin_cycles;
  MappingType mapping_type;
};
static_assert(sizeof(GetInfoV2) == 48 && offsetof(GetInfoV2, mapping_type) == 40);

/// Whether pages stay mapped when CUDA frees them. The number is that of gdrapi.h.
inline constexpr std::uint32_t kPersistentMappings = 1;

struct GetAttribute {
  std::uint32_t attribute;
  std::uint32_t value;  ///< out
};
static_assert(sizeof(GetAttribute) == 8);

struct GetVersion {
  std::uint32_t module;            ///< out
  std::uint32_t oldest_interface;  ///< out: the oldest that callers may use
};
static_assert(sizeof(GetVersion) == 8);

inline constexpr unsigned kMagic = 0xDA;
// All but the first declare the size of a pointer instead of the struct's. The size is part of the
// ioctl number, so it must stay.
inline constexpr unsigned long kPinBuffer = _IOWR(kMagic, 1, PinBuffer);
inline constexpr unsigned long kUnpinBuffer = _IOWR(kMagic, 2, UnpinBuffer*);
inline constexpr unsigned long kGetInfo = _IOWR(kMagic, 4, GetInfo*);
inline constexpr unsigned long kGetInfoV2 = _IOWR(kMagic, 5, GetInfoV2*);
inline constexpr unsigned long kGetAttribute = _IOWR(kMagic, 6, GetAttribute*);
inline constexpr unsigned long kGetVersion = _IOWR(kMagic, 255, GetVersion*);

}  // namespace isthmus::window::gdrdrv

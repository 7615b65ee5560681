// The structs of DLPack's specification, 0.8 and 1.x, as they lie in memory.
#pragma once

#include <cstdint>

namespace dlpack {

// Names of a capsule whose tensor is to be had, of the same from 1.0 on, and of one whose tensor was
// taken.
inline constexpr const char* kName = "dltensor";
inline constexpr const char* kVersionedName = "dltensor_versioned";
inline constexpr const char* kUsedName = "used_dltensor";

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUnsigned = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat6 = 15,  // from here on less than a byte
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t num_dimensions;
  std::uint8_t type_code;
  std::uint8_t item_bits;
  std::uint16_t item_lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in items; null if C-contiguous
  std::uint64_t offset_bytes;
};

// Before 1.0.
struct ManagedTensor {
  Tensor tensor;
  void* owner;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

// From 1.0 on. The version always comes first; the rest may change with its major number.
struct VersionedTensor {
  Version version;
  void* owner;
  void (*deleter)(VersionedTensor*);
  std::uint64_t flags;
  Tensor tensor;
};
inline constexpr std::uint32_t kKnownMajor = 1;
inline constexpr std::uint64_t kReadOnly = 1;

// From 1.3 on: what a type's __dlpack_c_exchange_api__ points to. Only the members used here have
// their real type.
struct ExchangeHeader {
  Version version;
  const ExchangeHeader* previous;
};
struct Exchange {
  ExchangeHeader header;
  void (*allocate)();
  void (*from_object)();
  void (*to_object)();
  int (*borrow)(void* object, Tensor* tensor);  // may be null
  int (*current_stream)(DeviceType type, std::int32_t id, void** stream);
};

}  // namespace dlpack

// What a DLPack capsule says. The structs are those of DLPack's specification, 0.8 and 1.x.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};

struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t num_dimensions;
  std::uint8_t type_code;
  std::uint8_t item_bits;
  std::uint16_t item_lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // in items; null if C-contiguous
  std::uint64_t offset_bytes;
};

// From DLPack 1.0 on. The version comes first and stays there; the rest may change with its major.
struct DlVersionedTensor {
  std::uint32_t major;
  std::uint32_t minor;
  void* owner;
  void (*deleter)(DlVersionedTensor*);
  std::uint64_t flags;
  DlTensor tensor;
};
constexpr std::uint32_t kKnownMajor = 1;
constexpr std::uint64_t kReadOnly = 1;

/// A tensor as Python code judges it.
struct DlpackArray {
  std::uintptr_t pointer = 0;
  std::vector<std::int64_t> shape;
  std::optional<std::vector<std::int64_t>> strides;
  std::size_t item_bits = 0;
  int device_type = 0;
  int device_id = 0;
  bool read_only = false;
};

DlpackArray describe(const DlTensor& tensor, bool read_only) {
  DlpackArray array;
  array.pointer = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.offset_bytes;
  array.shape.assign(tensor.shape, tensor.shape + tensor.num_dimensions);
  if (tensor.strides != nullptr)
    array.strides.emplace(tensor.strides, tensor.strides + tensor.num_dimensions);
  array.item_bits = std::size_t{tensor.item_bits} * tensor.item_lanes;
  array.device_type = tensor.device.type;
  array.device_id = tensor.device.id;
  array.read_only = read_only;
  return array;
}

/// The capsule stays unused, so that its own destructor gives the memory back: who keeps the
/// capsule keeps the memory.
DlpackArray read_dlpack(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    // Of DLManagedTensor the tensor is the first member.
    return describe(*static_cast<DlTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor")),
                    false);
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned"))
    throw isthmus::UsageError("__dlpack__() gave no DLPack capsule, or one that was used before");
  const auto& versioned =
      *static_cast<DlVersionedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
  if (versioned.major != kKnownMajor)
    throw isthmus::UsageError("__dlpack__() gave a capsule of DLPack " +
                              std::to_string(versioned.major) + "." +
                              std::to_string(versioned.minor) + "; up to 1.x is understood");
  return describe(versioned.tensor, (versioned.flags & kReadOnly) != 0);
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  nb::class_<DlpackArray>(m, "DlpackArray", "What a DLPack capsule says of its array.")
      .def_ro("pointer", &DlpackArray::pointer)
      .def_ro("shape", &DlpackArray::shape)
      .def_ro("strides", &DlpackArray::strides, "In items; None if C-contiguous.")
      .def_ro("item_bits", &DlpackArray::item_bits)
      .def_ro("device_type", &DlpackArray::device_type, "2 is memory of a CUDA device.")
      .def_ro("device_id", &DlpackArray::device_id)
      .def_ro("read_only", &DlpackArray::read_only);
  m.def("read_dlpack", &read_dlpack, "capsule"_a,
        "Read a capsule without using it up: keep it for as long as its memory is used.");
}

// What a DLPack capsule says.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "dlpack_structs.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// A tensor as Python code judges it.
struct DlpackArray {
  std::uintptr_t pointer = 0;
  std::vector<std::int64_t> shape;
  std::optional<std::vector<std::int64_t>> strides;
  int type_code = 0;
  std::size_t item_bits = 0;
  int item_lanes = 1;
  int device_type = 0;
  int device_id = 0;
  bool read_only = false;
};

DlpackArray describe(const dlpack::Tensor& tensor, bool read_only) {
  DlpackArray array;
  array.pointer = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.offset_bytes;
  array.shape.assign(tensor.shape, tensor.shape + tensor.num_dimensions);
  if (tensor.strides != nullptr)
    array.strides.emplace(tensor.strides, tensor.strides + tensor.num_dimensions);
  array.type_code = tensor.type_code;
  array.item_bits = std::size_t{tensor.item_bits} * tensor.item_lanes;
  array.item_lanes = tensor.item_lanes;
  array.device_type = tensor.device.type;
  array.device_id = tensor.device.id;
  array.read_only = read_only;
  return array;
}

/// The capsule stays unused, so that its own destructor gives the memory back: who keeps the
/// capsule keeps the memory.
DlpackArray read_dlpack(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    const void* const managed = PyCapsule_GetPointer(capsule.ptr(), "dltensor");
    return describe(static_cast<const dlpack::ManagedTensor*>(managed)->tensor, false);
  }
  if (!PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned"))
    throw isthmus::UsageError("__dlpack__() gave no DLPack capsule, or one that was used before");
  const auto& versioned = *static_cast<const dlpack::VersionedTensor*>(
      PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
  if (versioned.version.major != dlpack::kKnownMajor)
    throw isthmus::UsageError(
        "__dlpack__() gave a capsule of DLPack " + std::to_string(versioned.version.major) + "." +
        std::to_string(versioned.version.minor) + "; up to 1.x is understood");
  return describe(versioned.tensor, (versioned.flags & dlpack::kReadOnly) != 0);
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  nb::class_<DlpackArray>(m, "DlpackArray", "What a DLPack capsule says of its array.")
      .def_ro("pointer", &DlpackArray::pointer)
      .def_ro("shape", &DlpackArray::shape)
      .def_ro("strides", &DlpackArray::strides, "In items; None if C-contiguous.")
      .def_ro("type_code", &DlpackArray::type_code,
              "0 is a signed integer, 2 a float, for instance.")
      .def_ro("item_bits", &DlpackArray::item_bits, "Of all lanes.")
      .def_ro("item_lanes", &DlpackArray::item_lanes)
      .def_ro("device_type", &DlpackArray::device_type, "2 is memory of a CUDA device.")
      .def_ro("device_id", &DlpackArray::device_id)
      .def_ro("read_only", &DlpackArray::read_only);
  m.def("read_dlpack", &read_dlpack, "capsule"_a,
        "Read a capsule without using it up: keep it for as long as its memory is used.");
}

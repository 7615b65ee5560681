// Device memory as a tensor that other libraries take over by DLPack.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using DeviceTensor = nb::ndarray<nb::array_api, nb::device::cuda>;

DeviceTensor device_tensor(std::uintptr_t pointer, const std::vector<std::size_t>& shape,
                           std::uint8_t type_code, std::uint8_t item_bits, int device,
                           nb::handle owner) {
  const nb::dlpack::dtype type{type_code, item_bits, 1};
  return {reinterpret_cast<void*>(pointer), shape.size(), shape.data(), owner, nullptr, type,
          nb::device::cuda::value,          device};
}

}  // namespace

void bind_device_tensor(nb::module_& m) {
  m.def("device_tensor", &device_tensor, "pointer"_a, "shape"_a, "type_code"_a, "item_bits"_a,
        "device"_a, "owner"_a,
        nb::sig("def device_tensor(pointer: int, shape: list[int], type_code: int, item_bits: int, "
                "device: int, owner: object) -> object"),
        "Show device memory as a C-contiguous tensor with __dlpack__(); it keeps `owner` alive. "
        "Codes "
        "are DLPack's.");
}

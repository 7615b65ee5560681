// Device memory as a tensor that other libraries can take over by DLPack.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using DeviceTensor = nb::ndarray<nb::array_api, nb::device::cuda>;

/// The limit of PyTorch and NumPy. nanobind's exporter ends the process at more than 128.
constexpr std::size_t kMaxDimensions = 64;
/// DLPack counts items, and libraries count bytes, in signed 64-bit integers.
constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

/// Throws      UsageError if a tensor can't have that shape.
std::vector<std::size_t> checked_shape(const nb::sequence& lengths, std::uint8_t item_bits) {
  std::vector<std::size_t> shape;
  const std::uint64_t item_bytes = std::max(1U, (item_bits + 7U) / 8U);
  std::uint64_t max_items = kMaxBytes / item_bytes;
  for (const nb::handle item : lengths) {
    if (shape.size() == kMaxDimensions)
      throw isthmus::UsageError("a tensor has at most " + std::to_string(kMaxDimensions) +
                                " dimensions");
    std::size_t length = 0;
    const bool is_number = nb::try_cast(item, length);
    // A length of 0 doesn't reduce the strides before it.
    max_items /= std::max<std::size_t>(1, length);
    if (!is_number || max_items == 0)
      throw isthmus::UsageError("length " + std::to_string(shape.size()) +
                                " of a tensor's shape is no number from 0, or no memory holds it");
    shape.push_back(length);
  }
  return shape;
}

DeviceTensor device_tensor(std::uintptr_t pointer, const nb::sequence& lengths,
                           std::uint8_t type_code, std::uint8_t item_bits, int device,
                           nb::handle owner) {
  const std::vector<std::size_t> shape = checked_shape(lengths, item_bits);
  const nb::dlpack::dtype type{type_code, item_bits, 1};
  return {reinterpret_cast<void*>(pointer), shape.size(), shape.data(), owner, nullptr, type,
          nb::device::cuda::value,          device};
}

}  // namespace

void bind_device_tensor(nb::module_& m) {
  m.def("device_tensor", &device_tensor, "pointer"_a, "shape"_a, "type_code"_a, "item_bits"_a,
        "device"_a, "owner"_a,
        nb::sig("def device_tensor(pointer: int, shape: Sequence[int], type_code: int, item_bits: "
                "int, device: int, owner: object) -> object"),
        "Wrap device memory in a tensor with __dlpack__(), which keeps `owner` alive. Type codes "
        "are DLPack's. UsageError: no tensor can have that shape.");
}

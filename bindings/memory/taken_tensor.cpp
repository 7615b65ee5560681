// Tensors of other libraries that are taken over only to be freed.
#include <cstddef>
#include <cstdint>

#include <nanobind/nanobind.h>

#include "bindings/arrays/dlpack_structs.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "host/memory/shared_view.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// From the first item to the last; 0 if that isn't the tensor's order.
std::size_t extent_bytes(const dlpack::Tensor& tensor) noexcept {
  std::int64_t num_items = 1, count = 1;
  for (std::int32_t i = tensor.num_dimensions - 1; i >= 0; --i) {
    const std::int64_t stride = tensor.strides != nullptr ? tensor.strides[i] : count;
    if (tensor.shape[i] <= 0 || stride < 0) return 0;
    num_items += (tensor.shape[i] - 1) * stride;
    count *= tensor.shape[i];
  }
  return static_cast<std::size_t>(num_items) * tensor.item_bits * tensor.item_lanes / 8;
}

/// Where the tensor's items are, if the CPU has them.
const void* first_item(const dlpack::Tensor& tensor) noexcept {
  if (tensor.device.type != dlpack::kCpu || tensor.data == nullptr) return nullptr;
  return static_cast<const std::byte*>(tensor.data) + tensor.offset_bytes;
}

/// A library's deleter takes the GIL itself where it needs it: it may run in any thread. PyTorch's
/// frees a storage with the GIL held (2.11), so that what takes long is done before and after.
void free_tensor(const nb::capsule& exported) {
  PyObject* const capsule = exported.ptr();
  auto* const managed =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, dlpack::kName));
  if (managed == nullptr || PyCapsule_SetName(capsule, dlpack::kUsedName) != 0)
    nb::raise_python_error();
  const GilReleased released;
  const void* const first = first_item(managed->tensor);
  const isthmus::host::SharedView until_then(first,
                                             first == nullptr ? 0 : extent_bytes(managed->tensor));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

void bind_taken_tensor(nb::module_& m) {
  m.def("free_tensor", &free_tensor, "exported"_a,
        nb::sig("def free_tensor(exported: object) -> None"),
        "Take over what a DLPack capsule holds, and let go of it while other Python threads run. "
        "ValueError: the capsule isn't DLPack's, or its tensor was taken before.");
}

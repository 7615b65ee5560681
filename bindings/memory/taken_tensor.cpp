// Tensors of other libraries that are taken over only to be freed.
#include <nanobind/nanobind.h>

#include "bindings/arrays/dlpack_structs.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// A library's deleter takes the GIL itself where it needs it: it may run in any thread.
void free_tensor(const nb::capsule& exported) {
  PyObject* const capsule = exported.ptr();
  auto* const tensor =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, dlpack::kName));
  if (tensor == nullptr || PyCapsule_SetName(capsule, dlpack::kUsedName) != 0)
    nb::raise_python_error();
  const GilReleased released;
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

}  // namespace

void bind_taken_tensor(nb::module_& m) {
  m.def("free_tensor", &free_tensor, "exported"_a,
        nb::sig("def free_tensor(exported: object) -> None"),
        "Take over what a DLPack capsule holds, and let go of it while other Python threads run. "
        "ValueError: the capsule isn't DLPack's, or its tensor was taken before.");
}

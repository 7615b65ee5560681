"""`isthmus.numba.paged_access`: the functions by which Numba's kernels use a paged array."""

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from isthmus.errors import Unavailable, UsageError
from isthmus.move.paged.header import paged_header

if TYPE_CHECKING:
    from isthmus.move.paged.array import PagedArray

# By the names that NumPy and Numba have in common.
_TYPES_IN_C = {
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}

# As Numba calls functions of others: the result's place comes first, and 0 means no exception.
# Source: Numba CUDA, Calling foreign functions from Python kernels.
_CODE = """
extern "C" __device__ int isthmus_load_{name}({item}* result, unsigned long long map,
                                              unsigned long long i) {{
  isthmus::{array}<{item}> array(*reinterpret_cast<const isthmus::{map}*>(map));
  *result = array.load(i);
  return 0;
}}
extern "C" __device__ int isthmus_store_{name}(int* result, unsigned long long map,
                                               unsigned long long i, {item} value) {{
  isthmus::{array}<{item}> array(*reinterpret_cast<const isthmus::{map}*>(map));
  array.store(i, value);
  *result = 0;
  return 0;
}}
"""


class PagedAccess(NamedTuple):
    """
    Functions for a kernel of Numba; give them names of their own, since kernels know no attributes.

    Attributes:
        load: load(argument, i) gives an item, and fetches its unit if the GPU doesn't hold it.
        store: store(argument, i, value) stores one.
    """

    load: Any
    store: Any


def paged_access(array: "PagedArray") -> PagedAccess:
    """
    Give the functions by which Numba's kernels load and store items of an array.

    They serve all arrays with items of that type that have a budget, or all that have none. The
    kernel's argument is `numpy.uint64(array.argument(stream))`, asked for before each launch. Each
    call looks at its unit anew, which a kernel in CUDA C++ does for another unit only.

    Args:
        array: It must stay open while kernels use it.

    Raises:
        UsageError: The items aren't integers or floats of 8 to 64 bits, or are float16.
        Unavailable: numba-cuda isn't installed, or is too old.
    """
    name = str(array.dtype)
    if name not in _TYPES_IN_C:
        raise UsageError(
            f"kernels of Numba can't use a paged array of {name}",
            hint=f"the types of items that they can use: {', '.join(_TYPES_IN_C)}",
        )
    return _declared("budgeted" if array.budgeted else "paged", name)


# A kernel that uses two arrays links each code once, by its identity.
@cache
def _declared(kind: str, name: str) -> PagedAccess:
    cuda = _cuda_of_numba()
    link = cuda.CUSource(code_of(kind, name), name="isthmus_paged_array.cu")

    def function(action: str, signature: str) -> Any:  # noqa: ANN401 - a function of Numba's
        return cuda.declare_device(f"isthmus_{action}_{kind}_{name}", signature, link=link)

    return PagedAccess(
        load=function("load", f"{name}(uint64, uint64)"),
        store=function("store", f"int32(uint64, uint64, {name})"),
    )


def code_of(kind: str, name: str) -> str:
    """Give the functions in CUDA C++ for a kernel's "paged" or "budgeted" array."""
    item = _TYPES_IN_C[name]
    functions = _CODE.format(
        name=f"{kind}_{name}", item=item, array=f"{kind}_array", map=f"{kind}_map"
    )
    return paged_header() + functions


def _cuda_of_numba() -> Any:  # noqa: ANN401 - a module that need not be installed
    needs = "numba-cuda 0.30 or later: pip install numba-cuda"
    try:
        cuda = importlib.import_module("numba.cuda")
    except ImportError as error:
        raise Unavailable(capability="isthmus.numba", reason=str(error), needs=needs) from error
    if not hasattr(cuda, "CUSource"):
        reason = "this Numba can't link code from memory"
        raise Unavailable(capability="isthmus.numba", reason=reason, needs=needs)
    return cuda

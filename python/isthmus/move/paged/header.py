"""`isthmus.paged_header`."""

import re

from isthmus import _native

# Each includes some of those before.
_HEADERS = (
    "paged_machine.cuh",
    "paged_array.cuh",
    "held_array.cuh",
    "budgeted_array.cuh",
)


def paged_header() -> str:
    """
    Give the text of `isthmus/paged_array.cuh`, `held_array.cuh` and `budgeted_array.cuh`.

    Prepend it to the code of your own kernel. It needs no other file, and works with NVRTC
    (CuPy's `RawModule`) and nvcc.

    Returns:
        CUDA C++.

    Raises:
        ImportError: The package was installed without its native module.
    """
    texts = [_native.kernel_header(f"isthmus/{name}") for name in _HEADERS]
    return re.sub("#include <isthmus/.*>\n", "", "\n".join(texts))

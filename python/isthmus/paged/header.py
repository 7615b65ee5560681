"""`isthmus.paged_header`."""

import re

from isthmus import _native

_HEADERS = ("paged_machine", "paged_array", "budgeted_array")  # each includes the one before


def paged_header() -> str:
    """
    Give the text of `isthmus/budgeted_array.cuh` and of what it includes, `paged_array.cuh`.

    To be put before the code of your own kernel. It needs no other file, and works with NVRTC
    (CuPy's `RawModule`) and nvcc.

    Returns:
        CUDA C++.

    Raises:
        ImportError: The package was installed without its native module.
    """
    texts = [_native.kernel_header(f"isthmus/{name}.cuh") for name in _HEADERS]
    return re.sub("#include <isthmus/.*>\n", "", "\n".join(texts))

"""Finds the tensors that PyTorch makes while an object moves itself to a device."""

import functools
from typing import Any

from isthmus.move.torch.library import torch_module

_PARTS = {
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def recording(made: list[Any], device: Any) -> Any:  # noqa: ANN401 - of PyTorch
    """
    In a `with` statement, add to a list what this thread makes on a device; of a sparse tensor,
    what it consists of. The allocator must be told which other stream uses them, and not every
    object can do that for its own.
    """
    return _recorder(torch_module())(made, device)


@functools.cache
def _recorder(torch: Any) -> Any:  # noqa: ANN401 - a type
    class Recorder(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc] # noqa: SLF001
        def __init__(self, made: list[Any], device: Any) -> None:  # noqa: ANN401
            super().__init__()
            self._made, self._device = made, device

        def __torch_dispatch__(self, operation: Any, _: Any, arguments: Any, options: Any) -> Any:  # noqa: ANN401
            result = operation(*arguments, **(options or {}))
            for each in result if isinstance(result, tuple | list) else (result,):
                if isinstance(each, torch.Tensor) and each.device == self._device:
                    parts = _PARTS.get(str(each.layout))
                    self._made += [getattr(each, name)() for name in parts] if parts else [each]
            return result

    return Recorder

"""Reductions of items, and streams, as the native module numbers them."""

from isthmus.errors import UsageError
from isthmus.move.arrays.streams import stream_handle

_KINDS = {"float32": 0, "float64": 1, "int32": 2, "int64": 3}
_REDUCTIONS = {"sum": 0, "min": 1, "max": 2}


def reduction_of(dtype: str, operation: object) -> tuple[int, int]:
    """Give the numbers of a type and a reduction."""
    if dtype not in _KINDS:
        raise UsageError(f"items of {dtype} can't be reduced: {', '.join(_KINDS)} can")
    if not isinstance(operation, str) or operation not in _REDUCTIONS:
        raise UsageError(f"no reduction {operation!r}: there are sum, min and max")
    return _KINDS[dtype], _REDUCTIONS[operation]


def handle_of(stream: object) -> int:
    """Give a stream's handle; None is the legacy default stream."""
    return 0 if stream is None else stream_handle(stream)

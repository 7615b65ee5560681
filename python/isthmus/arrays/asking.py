"""Asks arrays of other libraries, which raise whatever they like if they have no memory to show."""

from types import TracebackType

from isthmus.errors import Error, UsageError


class asking:  # noqa: N801 - reads as a statement: with asking(array)
    """Turns what an array raises meanwhile into a UsageError that names it and the reason."""

    __slots__ = ("_array",)

    def __init__(self, array: object) -> None:
        """Name the array."""
        self._array = array

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        refusal: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        """Leave our own errors, and a want of memory, as they are."""
        if not isinstance(refusal, Exception) or isinstance(refusal, Error | MemoryError):
            return
        needs_gradient = getattr(self._array, "requires_grad", False) is True
        raise UsageError(
            f"this {type(self._array).__name__} can't be exported: {refusal}",
            hint="pass tensor.detach()" if needs_gradient else "",
        ) from refusal

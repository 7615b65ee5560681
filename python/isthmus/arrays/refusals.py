"""Explains why an object can't be read as an array."""

from typing import NoReturn

from isthmus.errors import Error, Unavailable, UsageError

WHAT_IS_AN_ARRAY = (
    "pass an array (NumPy, PyTorch, CuPy, JAX, Numba, RMM; DLPack, __cuda_array_interface__, "
    "__array_interface__ or the buffer protocol), isthmus.DevicePointer or isthmus.HostPointer"
)
_DETACH = "pass tensor.detach()"

# From the native reader's reason to a message with {detail}, which follows "this <type> ", and a
# hint.
_SAYINGS = {
    "objects": ("holds Python objects, which can't be copied as bytes", ""),
    "masked": ("is masked", "use its data"),
    "typestr": ("has items of unknown size: typestr '{detail}'", ""),
    "dimensions": ("has more than 64 dimensions", "reshape it"),
    "strides": ("has not one stride for each dimension", ""),
    "table": ("is a table of pointers, not one piece of memory", ""),
    "foreign device": ("lies on a device that isn't CUDA's (DLPack type {detail})", ""),
    "without": ("describes itself by an array interface without '{detail}'", ""),
    "no dictionary": ("has a __cuda_array_interface__ that is no dictionary", ""),
    "version": (
        "has a __cuda_array_interface__ of version {detail}; up to 3 is understood",
        "",
    ),
    "stream": (
        "names stream {detail!r} in __cuda_array_interface__, where a stream is above 0, or None",
        "",
    ),
    "capsule": ("has a __dlpack__() that gave no DLPack capsule, or one that was used before", ""),
    "capsule version": (
        "has a __dlpack__() that gave a capsule of DLPack {detail}; up to 1.x is understood",
        "",
    ),
    "conjugated": (
        "has memory that isn't what it means: its conjugation is pending",
        "pass tensor.resolve_conj()",
    ),
    "negated": (
        "has memory that isn't what it means: its sign is pending",
        "pass tensor.resolve_neg()",
    ),
    "gradient": (
        "needs a gradient, and autograd would not record that it was written",
        "copy in `with torch.no_grad():`, or pass tensor.detach()",
    ),
}


def refuse(thing: object, reason: str, detail: object) -> NoReturn:
    """
    Refuse an object that can't be read.

    Args:
        thing: The object.
        reason: A word of the native reader's.
        detail: What the reason is about; for "raised" and "buffer", what was raised meanwhile.

    Raises:
        UsageError: Always, but for errors of our own, a lack of memory, and interruptions, which
            are raised as they are.
    """
    what = type(thing).__name__
    if reason in {"raised", "buffer"} and isinstance(detail, BaseException):
        if not isinstance(detail, Exception) or isinstance(detail, Error | MemoryError):
            raise detail
        needs_gradient = getattr(thing, "requires_grad", False) is True
        verb = "exported" if reason == "raised" else "used as a buffer"
        raise UsageError(
            f"this {what} can't be {verb}: {detail}", hint=_DETACH if needs_gradient else ""
        ) from detail
    if reason == "no memory":
        raise UsageError(f"a '{what}' has no memory to copy", hint=WHAT_IS_AN_ARRAY) from None
    saying, hint = _SAYINGS[reason]
    raise UsageError(f"this {what} {saying.format(detail=detail)}", hint=hint)


def refuse_at(path: str, refusal: BaseException) -> NoReturn:
    """
    Raise a refusal again, saying which of many arrays it is about.

    Args:
        path: Where the array is: "model.layers.3.bias".
        refusal: What was raised; other than UsageError and Unavailable it is raised as it is.
    """
    if isinstance(refusal, Unavailable):
        raise Unavailable(
            f"{path}: {refusal}",
            capability=refusal.capability,
            reason=refusal.reason,
            needs=refusal.needs,
            hint=refusal.hint,
        ) from refusal
    if not isinstance(refusal, UsageError):
        raise refusal
    raise UsageError(f"{path}: {refusal}", hint=refusal.hint) from refusal

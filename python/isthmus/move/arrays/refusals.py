"""Explains why an object can't be read as an array."""

import contextlib
from typing import Any, NoReturn

from isthmus.errors import Error, Unavailable, UsageError
from isthmus.move.arrays.loaded import loaded_type

WHAT_IS_AN_ARRAY = (
    "pass an array (NumPy, PyTorch, CuPy, JAX, Numba, RMM; DLPack, __cuda_array_interface__, "
    "__array_interface__ or the buffer protocol), isthmus.DevicePointer or isthmus.HostPointer"
)
_DETACH = "pass tensor.detach()"
# For an object without memory of its own: if it has the attribute, what to pass instead.
_INSTEAD = {
    "state_dict": "pass its .state_dict()",
    "untyped": "pass torch.empty(0, dtype=torch.uint8).set_(storage.untyped())",
    "toarray": "pass its .toarray(), or the arrays that it consists of",
    "to_numpy": "as a source pass its .to_numpy(), which may be a copy; as a target, an array",
    "getbuffer": "pass its .getbuffer()",
    "__array__": "as a source pass numpy.asarray(it), which may be a copy; as a target, an array",
}
_DELETED = ("was deleted: by delete(), or because it was donated", "copy it before")
# Of PyTorch's tensors, by the attribute that is true.
_TENSORS = {
    "is_nested": ("is nested: not one piece of memory", "pass the list tensor.unbind()"),
    "is_meta": ("is on the meta device, which has no memory", "make it on the host or a GPU"),
    "is_quantized": ("is quantized", "pass tensor.int_repr(), or tensor.dequantize()"),
}
_NOT_STRIDED = ("is sparse, or has another layout than strides", "pass tensor.to_dense()")

# From the native reader's reason to a message with {detail}, which follows "this <type> ", and a
# hint.
_SAYINGS = {
    "objects": (
        "holds Python objects, which can't be copied as bytes",
        "convert it first: array.astype(float), or array.astype('U') for strings",
    ),
    "masked": ("is masked", "pass its .data, or .filled()"),
    "no numbers": ("describes its memory by something that isn't a number", ""),
    "null": (
        "has items, but no memory: its storage was freed, or it is an example without values",
        "",
    ),
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
    "inference": (
        "was made in inference_mode, and PyTorch lets nobody write it outside of that",
        "copy in `with torch.inference_mode():`, or pass tensor.clone() that was made outside",
    ),
    "gradient": (
        "needs a gradient, and autograd would not record that it was written",
        "copy in `with torch.no_grad():`, or pass tensor.detach()",
    ),
}


def refuse(thing: object, reason: str, detail: object) -> NoReturn:
    """
    Raise the UsageError for an object that can't be read; errors of our own, a lack of memory and
    interruptions, as `detail`, are raised as they are.
    """
    what = type(thing).__name__
    if reason in {"raised", "buffer"} and isinstance(detail, BaseException):
        if not isinstance(detail, Exception) or isinstance(detail, Error | MemoryError):
            raise detail
        known = _known(thing)
        if known is not None:
            raise UsageError(f"this {what} {known[0]}", hint=known[1]) from None
        verb = "exported" if reason == "raised" else "used as a buffer"
        # PyTorch's texts go on with frames of C++.
        lines = str(detail).strip().splitlines() or [type(detail).__name__]
        needs_gradient = getattr(thing, "requires_grad", False) is True
        hint = _DETACH if needs_gradient and "uninitialized" not in lines[0] else ""
        raise UsageError(f"this {what} can't be {verb}: {lines[0]}", hint=hint) from (
            detail if len(lines) == 1 else None
        )
    if reason == "no memory":
        found = (hint for name, hint in _INSTEAD.items() if hasattr(type(thing), name))
        raise UsageError(
            f"a '{what}' has no memory to copy", hint=next(found, WHAT_IS_AN_ARRAY)
        ) from None
    saying, hint = _SAYINGS[reason]
    raise UsageError(f"this {what} {saying.format(detail=detail)}", hint=hint)


def _known(thing: object) -> tuple[str, str] | None:
    """Say what libraries explain badly: arrays that aren't memory with strides; and a hint."""
    tensor, tracer = loaded_type("torch", "Tensor"), loaded_type("jax", "core.Tracer")
    if tracer is not None and isinstance(thing, tracer):
        return "is traced by JAX, and has no memory yet", "copy outside of jit, grad and vmap"
    with contextlib.suppress(Exception):  # of a subclass, which may forbid any question
        if tensor is None or not isinstance(thing, tensor):
            is_deleted: Any = getattr(thing, "is_deleted", bool)
            return _DELETED if is_deleted() is True else None
        if hasattr(thing, "get_mask"):
            return "is masked", "pass tensor.get_data()"
        found = (saying for name, saying in _TENSORS.items() if getattr(thing, name) is True)
        return next(found, None if "strided" in str(thing.layout) else _NOT_STRIDED)
    return None


def refuse_at(path: str, refusal: BaseException) -> NoReturn:
    """
    Raise a refusal again, with the array's path ("model.layers.3.bias"); what is neither UsageError
    nor Unavailable is raised as it is.
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

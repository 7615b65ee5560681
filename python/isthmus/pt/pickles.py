"""
Reads the pickle of a file of `torch.save`, and nothing else that a pickle can do.

A pickle is a program that calls functions by their names. Here the names are those that tensors and
plain containers need, as for torch.load(weights_only=True); each means a function of this file, and
any other name is refused. Source: PyTorch 2.4, torch/_weights_only_unpickler.py, torch/_utils.py.
"""

import io
import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from isthmus.errors import Error, UsageError
from isthmus.pt.archive import Stored
from isthmus.pt.tensors import (
    DTYPES,
    STORAGES,
    Dtype,
    PickledTensor,
    StorageType,
    storage_of,
    tensor_of,
)
from isthmus.suggest import shortened

_PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}


class Maker(Protocol):
    """Makes what a pickle describes."""

    def tensor(self, tensor: PickledTensor) -> Any:  # noqa: ANN401 - of any library
        """Make a tensor."""

    def parameter(self, tensor: Any, *, requires_grad: bool) -> Any:  # noqa: ANN401
        """Make a torch.nn.Parameter of a tensor that this has made."""

    def dtype(self, name: str) -> Any:  # noqa: ANN401
        """Make a dtype, of PyTorch's name."""


def read_pickle(
    text: bytes,
    storages: Mapping[str, Stored],
    file: str,
    maker: Maker,
    *,
    checked: bool = False,
) -> Any:  # noqa: ANN401 - whatever was saved
    """
    Read a pickle.

    Args:
        text: The pickle.
        storages: Those that it may refer to.
        file: The file's name, for messages.
        maker: Makes the tensors.
        checked: This has read it before, with another maker.

    Raises:
        UsageError: It is damaged, or names something that isn't allowed.
    """
    reader = _Reader(text, dict(storages), maker)
    try:
        if not checked:
            _require_small_memo(text)
        return reader.load()
    except UsageError as error:
        raise UsageError(f"{file}: {error}", hint=error.hint) from None
    except Error:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged pickle can raise anything
        reason = shortened(f"{type(error).__name__}: {error}")
        raise UsageError(f"{file}: its pickle can't be read: {reason}") from None
    finally:
        reader.forget()


def _require_small_memo(text: bytes) -> None:
    """Refuse a memo with numbers beyond its items: Python would make room for all of them."""
    for opcode, argument, _ in pickletools.genops(text):
        if opcode.name in _PUTS and isinstance(argument, int) and argument > len(text):
            raise UsageError(f"its pickle can't be read: it has no {argument} items")


class _Allowed:
    """A function that a pickle may call. Nothing can be set on it."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401
        return self._function(*arguments)

    def __setstate__(self, _state: object) -> None:
        raise UsageError("its pickle changes a function")


class _Reader(pickle.Unpickler):
    def __init__(self, text: bytes, storages: dict[str, Stored], maker: Maker) -> None:
        super().__init__(io.BytesIO(text))
        self._storages = storages
        self._maker = maker
        # What was made, by its identity; it is kept, so that identities stay unique.
        self._tensors: dict[int, Any] = {}
        self._dtypes: dict[int, tuple[Any, Dtype]] = {}
        self._functions: dict[str, Callable[..., Any]] = {
            "collections.OrderedDict": OrderedDict,
            "builtins.set": set,
            "__builtin__.set": set,
            "builtins.complex": complex,
            "__builtin__.complex": complex,
            "builtins.bytearray": _bytes_of,
            "__builtin__.bytearray": _bytes_of,
            "_codecs.encode": _encoded,
            "torch.Size": tuple,
            "torch._utils._rebuild_tensor": self._tensor_v1,
            "torch._utils._rebuild_tensor_v2": self._tensor_v2,
            "torch._utils._rebuild_tensor_v3": self._tensor_v3,
            "torch._utils._rebuild_parameter": self._parameter,
        }

    def forget(self) -> None:
        """Let go of everything: after some errors CPython's unpickler is never destroyed."""
        self.memo.clear()
        vars(self).clear()

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        """Give what a name means here."""
        full = f"{module}.{name}"
        if full in self._functions:
            return _Allowed(self._functions[full])
        if module == "torch" and name in STORAGES:
            return StorageType(Dtype(STORAGES[name]))
        if full in {"torch.storage.UntypedStorage", "torch.UntypedStorage"}:
            return StorageType(None)
        if module == "torch" and name in DTYPES:
            made = self._maker.dtype(name)
            self._dtypes[id(made)] = made, Dtype(name)
            return made
        raise UsageError(
            f"its pickle needs {shortened(full)}, which isn't allowed: only tensors and plain "
            "containers are loaded, so that a file can't run code",
            hint="save tensors in plain containers: torch.save(model.state_dict(), path)",
        )

    def persistent_load(self, reference: Any) -> Any:  # noqa: ANN401
        """Find a storage."""
        return storage_of(reference, self._storages)

    def _tensor_v1(self, storage: Any, offset: Any, shape: Any, strides: Any) -> Any:  # noqa: ANN401
        return self._made(tensor_of(storage, offset, shape, strides, False, None))  # noqa: FBT003

    def _tensor_v2(
        self,
        storage: Any,  # noqa: ANN401
        offset: Any,  # noqa: ANN401
        shape: Any,  # noqa: ANN401
        strides: Any,  # noqa: ANN401
        requires_grad: Any,  # noqa: ANN401
        _hooks: object,
        metadata: object = None,
    ) -> Any:  # noqa: ANN401
        _require_no_metadata(metadata)
        return self._made(tensor_of(storage, offset, shape, strides, requires_grad, None))

    def _tensor_v3(  # noqa: PLR0913, PLR0917 - PyTorch's own
        self,
        storage: Any,  # noqa: ANN401
        offset: Any,  # noqa: ANN401
        shape: Any,  # noqa: ANN401
        strides: Any,  # noqa: ANN401
        requires_grad: Any,  # noqa: ANN401
        _hooks: object,
        dtype: object,
        metadata: object = None,
    ) -> Any:  # noqa: ANN401
        _require_no_metadata(metadata)
        if id(dtype) not in self._dtypes:
            raise UsageError("a tensor's type is no type of PyTorch")
        _, kind = self._dtypes[id(dtype)]
        return self._made(tensor_of(storage, offset, shape, strides, requires_grad, kind))

    def _parameter(self, tensor: Any, requires_grad: Any, _hooks: object) -> Any:  # noqa: ANN401
        if id(tensor) not in self._tensors or not isinstance(requires_grad, bool):
            raise UsageError("a parameter has no tensor")
        return self._maker.parameter(tensor, requires_grad=requires_grad)

    def _made(self, tensor: PickledTensor) -> Any:  # noqa: ANN401
        made = self._maker.tensor(tensor)
        self._tensors[id(made)] = made
        return made


def _require_no_metadata(metadata: object) -> None:
    """Refuse conjugated and negative views, which only PyTorch has."""
    if metadata:
        raise UsageError(f"a tensor has properties that only PyTorch knows: {metadata!r}")


def _bytes_of(*contents: Any) -> bytearray:  # noqa: ANN401
    """Make a bytearray of bytes; a number would be a size, and take any amount of memory."""
    if contents and not isinstance(contents[0], (bytes, str)):
        raise UsageError("a bytearray is made of bytes alone")
    return bytearray(*contents)


def _encoded(text: Any, encoding: Any) -> bytes:  # noqa: ANN401
    """Make the bytes that a pickle of protocol 2 writes as text."""
    if not isinstance(text, str) or encoding != "latin1":
        raise UsageError("bytes are written as latin1 text")
    return text.encode("latin1")

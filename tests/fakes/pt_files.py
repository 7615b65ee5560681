"""Files as torch.save writes them, made without PyTorch. Source: PyTorch 2.4."""

import io
import math
import pickle
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

_ALIGNMENT_BYTES = 64


@dataclass(frozen=True)
class Storage:
    """
    A storage of a file.

    Attributes:
        key: Names its entry.
        kind: "FloatStorage", or "UntypedStorage".
        content: Its bytes.
        num_items: As the pickle says.
    """

    key: str
    kind: str
    content: bytes
    num_items: int


def rebuild(name: str) -> Any:  # noqa: ANN401
    """Make a function that a pickle calls by its name in torch._utils."""

    def function(*_arguments: Any) -> None:  # noqa: ANN401
        raise AssertionError("it is only named")

    function.__module__ = "torch._utils"
    function.__name__ = function.__qualname__ = name
    return function


@dataclass(frozen=True)
class Call:
    """What a pickle builds by calling a function of torch._utils."""

    function: Any
    arguments: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.function, self.arguments


@dataclass(frozen=True)
class Named:
    """What a pickle only names: torch.float32, torch.Size."""

    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "__module__", "torch")

    def __reduce__(self) -> str:
        return self.name


V1, V2, V3 = (rebuild(f"_rebuild_tensor{version}") for version in ("", "_v2", "_v3"))
PARAMETER = rebuild("_rebuild_parameter")


def tensor(
    storage: Storage,
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    offset: int = 0,
    requires_grad: bool = False,
    extra: tuple[Any, ...] = (),
) -> Call:
    """Describe a tensor, in C order unless strides are given."""
    if strides is None:
        strides = [math.prod(max(1, n) for n in shape[i + 1 :]) for i in range(len(shape))]
    arguments = (storage, offset, tuple(shape), tuple(strides), requires_grad, {}, *extra)
    return Call(V3 if storage.kind == "UntypedStorage" else V2, arguments)


@contextmanager
def _named_modules(names: Mapping[str, Sequence[Any]]) -> Iterator[None]:
    """Let pickle find what it names, as if PyTorch were there."""
    before = {name: sys.modules.get(name) for name in names}
    for name, objects in names.items():
        module = ModuleType(name)
        for one in objects:
            setattr(module, getattr(one, "name", None) or one.__name__, one)
        sys.modules[name] = module
    try:
        yield
    finally:
        for name, module_before in before.items():
            sys.modules.pop(name)
            if module_before is not None:
                sys.modules[name] = module_before


@dataclass
class _Pickling:
    kinds: dict[str, Any] = field(default_factory=dict)

    def reference(self, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, Storage):
            return None
        return "storage", self.kinds[value.kind], value.key, "cuda:1", value.num_items


def pickled(value: Any, storages: Sequence[Storage], named: Sequence[Named] = ()) -> bytes:  # noqa: ANN401
    """Pickle a structure of tensors."""
    kinds = {one.kind: type(one.kind, (), {"__module__": "torch"}) for one in storages}
    for kind in kinds.values():
        kind.__qualname__ = kind.__name__
    written = io.BytesIO()
    pickler = pickle.Pickler(written, protocol=2)
    pickler.persistent_id = _Pickling(kinds).reference  # type: ignore[method-assign]
    untyped = [kind for name, kind in kinds.items() if name == "UntypedStorage"]
    for kind in untyped:
        kind.__module__ = "torch.storage"
    modules: dict[str, Sequence[Any]] = {
        "torch": [*kinds.values(), *named],
        "torch.storage": untyped,
        "torch._utils": [V1, V2, V3, PARAMETER],
    }
    with _named_modules(modules):
        pickler.dump(value)
    return written.getvalue()


def write_pt(
    path: Path,
    pickle_text: bytes,
    storages: Sequence[Storage] = (),
    *,
    byteorder: bytes | None = b"little",
    aligned: bool = True,
    more: Mapping[str, bytes] | None = None,
) -> Path:
    """Write an archive: the pickle, the storages, the byte order and the version."""
    root = "archive"
    with zipfile.ZipFile(path, "w") as archive:
        entries = {f"{root}/data.pkl": pickle_text}
        if byteorder is not None:
            entries[f"{root}/byteorder"] = byteorder
        entries |= {f"{root}/data/{one.key}": one.content for one in storages}
        entries |= {f"{root}/version": b"3\n", f"{root}/.data/serialization_id": b"12"}
        entries |= {f"{root}/{name}": content for name, content in (more or {}).items()}
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            if aligned:
                entry.extra = _padding(archive.fp.tell() + 30 + len(name.encode()))  # type: ignore[union-attr]
            archive.writestr(entry, content)
    return path


def _padding(first: int) -> bytes:
    """Make the extra field with which PyTorch aligns the bytes of an entry."""
    count = -(first + 4) % _ALIGNMENT_BYTES
    return b"FB" + count.to_bytes(2, "little") + b"Z" * count


def save(path: Path, value: Any, storages: Sequence[Storage], **options: Any) -> Path:  # noqa: ANN401
    """Write a structure of tensors."""
    named = options.pop("named", ())
    return write_pt(path, pickled(value, storages, named), storages, **options)

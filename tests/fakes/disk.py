"""A disk that remembers what is done to it, and refuses what a test says."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

Kind = Literal[
    "open",
    "write",
    "sync",
    "close",
    "rename",
    "mkdir",
    "chmod",
    "truncate",
    "unlink",
    "sync folder",
]


@dataclass(frozen=True)
class Operation:
    """
    What was done: to a file's contents, to a name, or a mark of the test's.

    Attributes:
        what: The kind; also "create" and "mark".
        file: The file's number: its contents are that of a number, whatever its name.
        data: What was written, at `place`.
        place: Where; of "truncate", the size.
        path: The name that was made, removed or changed, the folder that was synced, or the mark.
        target: The new name.
    """

    what: str
    file: int = -1
    data: bytes = b""
    place: int = 0
    path: str = ""
    target: str = ""


@dataclass
class Refusal:
    """What is refused: the nth call of a kind, and all after it if that is for ever."""

    kind: Kind
    nth: int
    code: int
    for_ever: bool
    happened: bool = False
    num_calls: int = 0
    rest_of_a_write: bool = False

    def applies(self, kind: Kind) -> bool:
        """Count a call, and say whether it is refused."""
        if kind != self.kind:
            return False
        self.num_calls += 1
        refused = self.num_calls == self.nth or (self.for_ever and self.num_calls > self.nth)
        self.happened = self.happened or refused
        return refused


@dataclass
class Disk:
    """Follows what this process does below a folder by functions of `os`."""

    root: Path
    begins_with: dict[str, bytes] = field(default_factory=dict)
    folders_at_begin: list[str] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _open: dict[int, int | str] = field(default_factory=dict)
    _num_files: int = 0
    _refusal: Refusal | None = None

    def begin(self) -> None:
        """Take what is there for durable, and record from here."""
        self.begins_with = contents_below(self.root)
        self.folders_at_begin = [str(path) for path in self.root.rglob("*") if path.is_dir()]
        self.operations = []
        self._numbers = {name: number for number, name in enumerate(self.begins_with)}
        self._num_files = len(self._numbers)

    def mark(self, text: str) -> None:
        """Remember what the program has promised by now."""
        self.operations.append(Operation("mark", path=text))

    @contextmanager
    def refusing(
        self, kind: Kind, nth: int, code: int, *, for_ever: bool = False
    ) -> Iterator[Refusal]:
        """
        Refuse a call of a kind.

        Of a write that is refused a part is taken first, as by a disk that becomes full.
        """
        self._refusal = Refusal(kind, nth, code, for_ever)
        try:
            yield self._refusal
        finally:
            self._refusal = None

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Stand between the process and `os`."""
        for name, stand_in in (
            ("open", self._opened),
            ("close", self._closed),
            ("write", self._written),
            ("pwrite", self._written_at),
            ("ftruncate", self._truncated),
            ("fsync", self._synced),
            ("fchmod", self._mode_changed),
            ("replace", self._renamed),
            ("rename", self._renamed),
            ("unlink", self._removed),
            ("remove", self._removed),
            ("mkdir", self._folder_made),
        ):
            patch.setattr(os, name, _calling(stand_in, getattr(os, name)))

    def _refuse(self, kind: Kind) -> None:
        if self._refusal is not None and self._refusal.applies(kind):
            raise OSError(self._refusal.code, os.strerror(self._refusal.code))

    def _name(self, path: object) -> str | None:
        """Give a path's name if it is below the folder."""
        if isinstance(path, int):
            return None
        name = os.path.abspath(os.fspath(path))  # type: ignore[call-overload]  # noqa: PTH100
        return name if Path(name).is_relative_to(self.root) else None

    def _number(self, name: str) -> int:
        """Give a file's number; a new one if it is new."""
        if name not in self._numbers:
            self._numbers[name] = self._num_files
            self._num_files += 1
            self.operations.append(Operation("create", self._numbers[name], path=name))
        return self._numbers[name]

    def _opened(self, real: Any, path: object, flags: int, *more: Any, **named: Any) -> int:  # noqa: ANN401
        name = self._name(path)
        only_read = not flags & (os.O_ACCMODE | os.O_DIRECTORY)
        if name is None or only_read:
            return int(real(path, flags, *more, **named))
        if not flags & os.O_DIRECTORY:
            self._refuse("open")
        assert not flags & os.O_TRUNC, "an earlier file is never emptied"
        descriptor = int(real(path, flags, *more, **named))
        self._open[descriptor] = name if flags & os.O_DIRECTORY else self._number(name)
        return descriptor

    def _closed(self, real: Any, descriptor: int) -> None:  # noqa: ANN401
        opened = self._open.pop(descriptor, None)
        real(descriptor)
        # As Linux has it: what failed is closed.
        if isinstance(opened, int):
            self._refuse("close")

    def _written(self, real: Any, descriptor: int, data: bytes | memoryview) -> int:  # noqa: ANN401
        number = self._open.get(descriptor)
        if not isinstance(number, int):
            return int(real(descriptor, data))
        data = self._taken(bytes(data))
        count = int(real(descriptor, data))
        place = os.lseek(descriptor, 0, os.SEEK_CUR) - count
        self.operations.append(Operation("write", number, data[:count], place))
        return count

    def _written_at(self, real: Any, descriptor: int, data: bytes, place: int) -> int:  # noqa: ANN401
        number = self._open.get(descriptor)
        if not isinstance(number, int):
            return int(real(descriptor, data, place))
        self._refuse("write")
        count = int(real(descriptor, data, place))
        self.operations.append(Operation("write", number, bytes(data)[:count], place))
        return count

    def _taken(self, data: bytes) -> bytes:
        """Say what of a write the disk takes."""
        refusal = self._refusal
        if refusal is None:
            return data
        if refusal.rest_of_a_write:
            refusal.rest_of_a_write = False
            raise OSError(refusal.code, os.strerror(refusal.code))
        if not refusal.applies("write"):
            return data
        if len(data) < 2 or refusal.num_calls > refusal.nth:
            raise OSError(refusal.code, os.strerror(refusal.code))
        refusal.rest_of_a_write = True
        return data[: len(data) // 2]

    def _truncated(self, real: Any, descriptor: int, size: int) -> None:  # noqa: ANN401
        number = self._open.get(descriptor)
        if isinstance(number, int):
            self._refuse("truncate")
        real(descriptor, size)
        if isinstance(number, int):
            self.operations.append(Operation("truncate", number, place=size))

    def _synced(self, real: Any, descriptor: int) -> None:  # noqa: ANN401
        opened = self._open.get(descriptor)
        if opened is None:
            real(descriptor)
            return
        self._refuse("sync" if isinstance(opened, int) else "sync folder")
        real(descriptor)
        self.operations.append(
            Operation("sync", opened)
            if isinstance(opened, int)
            else Operation("sync folder", path=opened)
        )

    def _mode_changed(self, real: Any, descriptor: int, mode: int) -> None:  # noqa: ANN401
        if descriptor in self._open:
            self._refuse("chmod")
        real(descriptor, mode)

    def _renamed(self, real: Any, path: object, target: object) -> None:  # noqa: ANN401
        old, new = self._name(path), self._name(target)
        if old is None or new is None:
            real(path, target)
            return
        self._refuse("rename")
        real(path, target)
        self.operations.append(Operation("rename", path=old, target=new))
        self._numbers[new] = self._numbers.pop(old)

    def _removed(self, real: Any, path: object, **named: Any) -> None:  # noqa: ANN401
        name = self._name(path)
        if name is not None:
            self._refuse("unlink")
        real(path, **named)
        if name is not None:
            self.operations.append(Operation("unlink", path=name))
            self._numbers.pop(name, None)

    def _folder_made(self, real: Any, path: object, *more: Any, **named: Any) -> None:  # noqa: ANN401
        name = self._name(path)
        if name is not None:
            self._refuse("mkdir")
        real(path, *more, **named)
        if name is not None:
            self.operations.append(Operation("mkdir", path=name))


def contents_below(folder: Path) -> dict[str, bytes]:
    """Give the contents of all files below a folder."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _calling(stand_in: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: stand_in(real, *arguments, **named)

"""What crashes at any moment may leave of a disk whose operations were recorded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fakes.disk import Disk, Operation, contents_below

_NAMES = {"create", "rename", "unlink", "mkdir"}


@dataclass(frozen=True)
class Crash:
    """
    What one crash leaves.

    Attributes:
        files: Path below the disk's folder, contents.
        marks: What the program had promised until then.
    """

    files: tuple[tuple[str, bytes], ...]
    marks: tuple[str, ...]

    def restored(self, folder: Path) -> Path:
        """Put it into a new folder."""
        folder.mkdir()
        for name, contents in self.files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
        return folder


@dataclass
class _File:
    """Contents: those that programs see, and those that survive a crash for sure."""

    seen: bytes
    synced: bytes


def crashes(disk: Disk) -> list[Crash]:
    """
    List what crashes after each operation may leave, each outcome once.

    Of the names that weren't synced any number is lost, the latest first: file systems keep their
    order. Of the contents that weren't synced nothing is left, or half, or all.
    """
    _check_that_all_was_recorded(disk)
    found: dict[Crash, None] = {}
    for length in range(len(disk.operations) + 1):
        done = disk.operations[:length]
        files = _files_after(disk, done)
        marks = tuple(one.path for one in done if one.what == "mark")
        for changes in _names_that_may_be_left(done):
            for contents in (_synced, _half, _seen):
                found[Crash(_left(disk, files, changes, contents), marks)] = None
    return list(found)


def _check_that_all_was_recorded(disk: Disk) -> None:
    done = disk.operations
    changes = [one for one in done if one.what in _NAMES]
    recorded = _left(disk, _files_after(disk, done), changes, _seen)
    assert recorded == _relative(disk, contents_below(disk.root)), "something went around os"


def _files_after(disk: Disk, done: Sequence[Operation]) -> list[_File]:
    """Give all files by their numbers."""
    files = [_File(contents, contents) for contents in disk.begins_with.values()]
    for one in done:
        if one.what == "create":
            assert one.file == len(files)
            files.append(_File(b"", b""))
        elif one.what == "write":
            file = files[one.file]
            head = file.seen[: one.place].ljust(one.place, b"\0")
            file.seen = head + one.data + file.seen[one.place + len(one.data) :]
        elif one.what == "truncate":
            files[one.file].seen = files[one.file].seen[: one.place].ljust(one.place, b"\0")
        elif one.what == "sync":
            files[one.file].synced = files[one.file].seen
    return files


def _names_that_may_be_left(done: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Give changes of names: those that were synced, and any number of the others."""
    pending: list[int] = []
    for index, one in enumerate(done):
        if one.what in _NAMES:
            pending.append(index)
        elif one.what == "sync folder":
            pending = [each for each in pending if str(Path(done[each].path).parent) != one.path]
    for num_kept in range(len(pending) + 1):
        lost = set(pending[num_kept:])
        yield [one for index, one in enumerate(done) if one.what in _NAMES and index not in lost]


def _left(
    disk: Disk,
    files: Sequence[_File],
    changes: Sequence[Operation],
    contents: Callable[[_File], bytes],
) -> tuple[tuple[str, bytes], ...]:
    names = {name: number for number, name in enumerate(disk.begins_with)}
    folders = {str(disk.root), *disk.folders_at_begin}
    for one in changes:
        if one.what == "create":
            names[one.path] = one.file
        elif one.what == "rename":
            names[one.target] = names.pop(one.path)
        elif one.what == "unlink":
            del names[one.path]
        else:
            folders.add(one.path)
    reachable = {
        name: contents(files[number])
        for name, number in names.items()
        if folders.issuperset(
            str(parent) for parent in Path(name).parents if parent.is_relative_to(disk.root)
        )
    }
    return _relative(disk, reachable)


def _relative(disk: Disk, named: dict[str, bytes]) -> tuple[tuple[str, bytes], ...]:
    return tuple(
        sorted((str(Path(name).relative_to(disk.root)), data) for name, data in named.items())
    )


def _seen(file: _File) -> bytes:
    return file.seen


def _synced(file: _File) -> bytes:
    return file.synced


def _half(file: _File) -> bytes:
    """Give the synced bytes and half of those that were appended; or a mixture of old and new."""
    middle = (len(file.synced) + len(file.seen)) // 2
    return file.seen[:middle]

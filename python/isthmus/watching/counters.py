"""
What one watched process counted. Processes may still run, or were killed: a file is always whole.

Files may come from elsewhere: every number that leads to another place is checked, and text is
what terminals can show.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from isthmus.errors import Unavailable, UsageError
from isthmus.files.regular import open_regular
from isthmus.watching.layout import Values, layout

SUFFIX = ".counters"
MAX_EVENTS = 1_000_000
"""Of a process, for a timeline: 56 MB, and the most that viewers can show."""
_T = TypeVar("_T")
_IN_USE = 2
# Of bytes that had been copied before already, no copy is the first.
_REPEATED = ("calls", "bytes", "ns", "first_ns")
_MODES = ("off", "on", "audit")
_UNWATCHED_BYTES = 64
_NUMBERS = (
    *("pid", "parent_pid", "events_used", "events_capacity"),
    *("rows_lost", "sites_lost", "exec_failed"),
)
# A row's sums: what is subtracted between two readings.
SUMS = (
    *("calls", "items", "bytes", "ns", "wait_ns", "captured", "failed", "hidden", "hidden_ns"),
    *("replaced", "replaced_bytes", "replaced_ns"),
)


@dataclass(frozen=True, slots=True)
class Site:
    """A place in a program: "file.py:12 function" or "library+0x1234 symbol"; "" if unknown."""

    place: str = ""
    is_python: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of a process; launches is a number of calls."""

    tid: int
    name: str
    launches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """
    What one call, and a row of equal calls, have.

    Attributes:
        kind: What it does: "copy", "wait", "pin" and others.
        source: What lies there: "pageable", "pinned", "device", "managed", "array" or "".
        wait_ns: Of ns: until earlier work in the stream was complete.
    """

    entry: str
    kind: str
    thread: Thread
    site: Site
    source: str
    target: str
    stream: int
    bytes: int
    ns: int
    wait_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls(_Counted):
    """
    Calls of one entry point that are equal in all that matters.

    Attributes:
        row: Its place in the file, where it stays.
        size_class: The bits of the bytes of an item.
        hidden: Calls that were hidden synchronisation, or waits directly after a copy.
        replaced: Copies that the engine made; in an audit, those that it would have made.
    """

    row: int
    size_class: int
    calls: int
    items: int
    max_ns: int
    captured: int
    failed: int
    hidden: int
    hidden_ns: int
    replaced: int
    replaced_bytes: int
    replaced_ns: int

    @property
    def own_ns(self) -> int:
        """The time in the calls without waiting for earlier work."""
        return max(0, self.ns - self.wait_ns)

    @property
    def direction(self) -> str:
        """Give "up", "down", or "" for what doesn't cross the link."""
        if self.source in _HOST and self.target in _DEVICE:
            return "up"
        return "down" if self.source in _DEVICE and self.target in _HOST else ""

    @property
    def host_memory(self) -> str:
        """The kind of the end on the host: "pageable", "pinned", or "" if none is there."""
        return next((one for one in (self.source, self.target) if one in _HOST), "")


_HOST = {"pageable", "pinned"}
_DEVICE = {"device", "array", "managed"}


@dataclass(frozen=True, slots=True)
class Repeat:
    """Uploads of what seem to be the same bytes; ns without waiting, first_ns of the first."""

    key: int
    site: Site
    calls: int
    bytes: int
    ns: int
    first_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event(_Counted):
    """One call; begin_ns since that of the process."""

    begin_ns: int
    hidden: bool
    replaced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """
    What a process counted.

    Attributes:
        begin_ns: Of the first call of the driver, since 1970.
        end_ns: Of its end; 0 if it still runs or was killed.
        exec_mode: "off", "on" or "audit".
        unwatched: Entry points that copy and that this version doesn't know.
    """

    path: Path
    pid: int
    parent_pid: int
    begin_ns: int
    end_ns: int
    exec_mode: str
    emulated: bool
    events_used: int
    events_capacity: int
    rows_lost: int
    sites_lost: int
    exec_failed: int
    exec_reason: str
    command: str
    rank: str
    unwatched: tuple[str, ...]
    calls: tuple[Calls, ...]
    threads: tuple[Thread, ...]
    repeats: tuple[Repeat, ...]

    @property
    def events_lost(self) -> int:
        """Calls that found no room in the timeline."""
        return max(0, self.events_used - self.events_capacity)


def counter_files(folder: Path) -> list[Path]:
    """List the counter files in a folder, by their names."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError as cause:
        raise Unavailable(
            capability="counters",
            reason=f"{folder}: {cause.strerror}",
            needs="a folder in which watched processes have counted",
        ) from cause


def read_counters(path: Path) -> Process:
    """Read one file; UsageError if it is something else, or OSError."""
    return _File(path).process()


def read_events(process: Process) -> Iterator[Event]:
    """Read the calls that a process recorded one by one; those that didn't fit are missing."""
    return _File(process.path).events()


class _File:
    """One file: its tables are read once."""

    def __init__(self, path: Path) -> None:
        self._path, self._layout = path, layout()
        with open_regular(path) as file:
            self._size = os.fstat(file.fileno()).st_size
            if self._size == 0:
                raise OSError(errno.ENOSPC, "that process had no room for its counters")
            if self._size < self._layout.events:
                self._refuse("", f"{self._size} bytes are too few for counters")
            data = _exactly(file.fileno(), 0, self._layout.events)
            # A process that runs has given each row's thread its number before: read again, these
            # are all there.
            rows = self._layout.tables["rows"][2]
            self._data = _exactly(file.fileno(), 0, rows) + data[rows:]
        self._header = self._layout.header.at(self._data, 0)
        self._check_header()
        self._entries = [
            (_text(one["name"]), self._one_of(f"entry {number}", self._layout.classes, one["kind"]))
            for number, one in enumerate(self._used("entries"))
        ]
        self._threads = [
            Thread(one["tid"], _text(one["name"]), one["launches"]) for one in self._used("threads")
        ]
        # A row's number is a site's place plus 1.
        self._sites = [Site()] * (self._layout.tables["sites"][1] + 1)
        for number, one in self._table("sites"):
            if one["ready"]:
                self._sites[number + 1] = Site(_text(one["place"]), bool(one["is_python"]))

    def process(self) -> Process:
        head = self._header
        numbers = {name: head[name] for name in _NUMBERS}
        names = head["unwatched"]
        parts = [names[at : at + _UNWATCHED_BYTES] for at in range(0, len(names), _UNWATCHED_BYTES)]
        ran_ns = max(0, head["end_ns"] - head["begin_ns"])
        return Process(
            path=self._path,
            begin_ns=head["begin_wall_ns"],
            end_ns=head["begin_wall_ns"] + ran_ns if head["end_ns"] else 0,
            **numbers,
            exec_mode=self._one_of("header", _MODES, head["exec_mode"]),
            emulated=bool(head["emulated"]),
            exec_reason=_text(head["exec_reason"]),
            command=_text(head["command"]),
            rank=_text(head["rank"]),
            unwatched=tuple(filter(None, map(_text, parts))),
            calls=tuple(
                self._calls(number, one)
                for number, one in self._table("rows")
                if one["state"] == _IN_USE
            ),
            threads=tuple(self._threads),
            repeats=tuple(
                Repeat(
                    one["key"],
                    self._site(f"repeat {number}", one["site"]),
                    *(one[name] for name in ("calls", "bytes", "ns", "first_ns")),
                )
                for number, one in self._table("repeats")
                if one["key"]
            ),
        )

    def events(self) -> Iterator[Event]:
        record, head = self._layout.event, self._header
        number = min(head["events_used"], head["events_capacity"])
        with open_regular(self._path) as file:
            data = _exactly(file.fileno(), self._layout.events, number * record.size)
        for index, one in record.used_in(data):
            if not one["ready"]:
                continue
            ends = self._ends(f"event {index}", one)
            numbers = {name: one[name] for name in ("begin_ns", "ns", "wait_ns", "bytes", "stream")}
            flags: dict[str, Any] = {name: bool(one[name]) for name in ("hidden", "replaced")}
            yield Event(**ends, **numbers, **flags)

    def _check_header(self) -> None:
        head, expected = self._header, self._layout
        if head["magic"] != expected.magic:
            self._refuse("header", "it isn't a file of counters")
        if head["version"] != expected.version:
            self._refuse("header", f"version {head['version']}, this is {expected.version}")
        room = min(MAX_EVENTS, (self._size - expected.events) // expected.event.size)
        if head["events_capacity"] > room:
            self._refuse("header", f"{head['events_capacity']} events, and room for {room}")

    def _table(self, name: str) -> Iterator[tuple[int, Values]]:
        record, capacity, offset = self._layout.tables[name]
        return record.used_in(self._data[offset : offset + capacity * record.size])

    def _used(self, name: str) -> list[Values]:
        """Read the used part of a table; more may have been asked for than there is room."""
        record, capacity, offset = self._layout.tables[name]
        number = min(capacity, self._header[f"{name}_used"])
        return [record.at(self._data, offset + place * record.size) for place in range(number)]

    def _calls(self, row: int, one: Values) -> Calls:
        place = f"row {row}"
        numbers = {name: one[name] for name in (*SUMS, "max_ns", "stream")}
        numbers["size_class"] = self._one_of(f"{place}: size", range(65), one["size_class"])
        return Calls(row=row, **self._ends(place, one), **numbers)

    def _ends(self, place: str, one: Values) -> dict[str, Any]:
        entry, kind = self._one_of(f"{place}: entry", self._entries, one["entry"])
        return {
            "entry": entry,
            "kind": kind,
            "thread": self._one_of(f"{place}: thread", self._threads, one["thread"]),
            "site": self._site(place, one["site"]),
            "source": self._one_of(f"{place}: source", self._layout.kinds, one["source"]),
            "target": self._one_of(f"{place}: target", self._layout.kinds, one["target"]),
        }

    def _site(self, place: str, number: int) -> Site:
        return self._one_of(f"{place}: site", self._sites, number)

    def _one_of(self, place: str, known: Sequence[_T], number: int) -> _T:
        if number >= len(known):
            self._refuse(place, f"number {number}, and there are {len(known)}")
        return known[number]

    def _refuse(self, place: str, why: str) -> NoReturn:
        raise UsageError(
            f"{self._path}: {place}: {why}" if place else f"{self._path}: {why}",
            hint="it is damaged, or another version's: remove it from the folder",
        )


_CountedT = TypeVar("_CountedT", Calls, Repeat)


def since(before: Process | None, after: Process) -> Process:
    """Give what a process counted between two readings; the longest calls are those of both."""
    if before is None:
        return after
    then = {one.row: one for one in before.calls}
    calls = [_less(one, then.get(one.row), SUMS) for one in after.calls]
    repeated = {one.key: one for one in before.repeats}
    repeats = [_less(one, repeated.get(one.key), _REPEATED) for one in after.repeats]
    return replace(
        after,
        calls=tuple(one for one in calls if one.calls),
        repeats=tuple(one for one in repeats if one.calls),
    )


def _less(now: _CountedT, then: _CountedT | None, names: Sequence[str]) -> _CountedT:
    if then is None:
        return now
    return replace(
        now, **{name: max(0, getattr(now, name) - getattr(then, name)) for name in names}
    )


def _exactly(descriptor: int, offset: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (
        piece := os.pread(descriptor, size - len(data), offset + len(data))
    ):
        data += piece
    if len(data) < size:
        raise OSError(0, "it became shorter while it was read")
    return bytes(data)


def _text(raw: bytes) -> str:
    """Decode up to the first zero; what moves a cursor is left out."""
    text = raw.split(b"\0", 1)[0].decode(errors="replace")
    return "".join(one for one in text if one.isprintable())

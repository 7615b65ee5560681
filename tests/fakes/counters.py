"""Writes files as a watched process does, by the layout that the native module gives."""

import struct
from pathlib import Path
from typing import Any

from isthmus import _native

LAYOUT = _native.watch_layout()
_TABLES = {name: (record, offset) for name, record, _, offset in LAYOUT["tables"]}
Bytes = dict[str, Any]
MIB = 1 << 20
MS = 1_000_000


class CounterFile:
    """One file: what it is told, at the places of the layout."""

    def __init__(self, pid: int = 100, **header: Any) -> None:  # noqa: ANN401 - any member
        self.events: list[Bytes] = []
        self.data = bytearray(LAYOUT["events"])
        self.header: Bytes = {
            "magic": LAYOUT["magic"],
            "version": LAYOUT["version"],
            "pid": pid,
            "parent_pid": 1,
            "begin_ns": 1000 * MS,
            "end_ns": 3000 * MS,
            "command": "python train.py",
            **header,
        }
        self._entries: dict[tuple[str, str], int] = {}
        self._threads: dict[tuple[int, str], int] = {}
        self._sites: dict[str, int] = {"": 0}
        self._rows = self._repeats = 0

    def row(self, entry: str, kind: str, **members: Any) -> "CounterFile":  # noqa: ANN401 - any
        """Add equal calls; `each` is the bytes of an item."""
        number = members.get("calls", 1)
        items = members.setdefault("items", number if kind == "copy" else 0)
        each = members.pop("each", 0)
        members |= self._ends(entry, kind, members)
        self.put(
            "rows",
            self._rows,
            **{
                "state": 2,
                "calls": number,
                "bytes": each * max(items, number),
                "size_class": each.bit_length(),
                "max_ns": members.get("ns", 0),
                **members,
            },
        )
        self._rows += 1
        return self

    def repeat(self, site: str = "", **members: int) -> "CounterFile":
        """Add uploads of the same bytes."""
        self.put("repeats", self._repeats, key=self._repeats + 7, site=self._site(site), **members)
        self._repeats += 1
        return self

    def event(self, entry: str, kind: str, **members: Any) -> "CounterFile":  # noqa: ANN401 - any
        """Add a call to the timeline."""
        members |= self._ends(entry, kind, members)
        self.events.append({"ready": 1, **members})
        return self

    def put(self, table: str, index: int, **members: Any) -> None:  # noqa: ANN401 - any member
        """Write members of a record."""
        record, offset = _TABLES[table]
        _pack(self.data, record, offset + index * LAYOUT["records"][record][0], members)

    def write(self, folder: Path, name: str = "") -> Path:
        """Write the file as a process would name it."""
        counted = {"entries_used": len(self._entries), "threads_used": len(self._threads)}
        recorded = {"events_used": len(self.events), "events_capacity": len(self.events)}
        wall = {"begin_wall_ns": self.header["begin_ns"]}
        _pack(self.data, "Header", 0, counted | recorded | wall | self.header)
        events = bytearray(LAYOUT["records"]["Event"][0] * len(self.events))
        for index, one in enumerate(self.events):
            _pack(events, "Event", index * LAYOUT["records"]["Event"][0], one)
        named = name or f"{self.header['pid']}-{self.header['begin_ns']}.counters"
        folder.mkdir(exist_ok=True)
        (folder / named).write_bytes(self.data + events)
        return folder / named

    def _ends(self, entry: str, kind: str, members: Bytes) -> Bytes:
        key = (entry, kind)
        if key not in self._entries:
            number = self._entries[key] = len(self._entries)
            self.put("entries", number, name=entry, kind=LAYOUT["classes"].index(kind))
        thread = members.get("thread", (100, "main"))
        if thread not in self._threads:
            number = self._threads[thread] = len(self._threads)
            self.put("threads", number, tid=thread[0], name=thread[1], launches=5)
        return {
            "entry": self._entries[key],
            "thread": self._threads[thread],
            "site": self._site(members.get("site", "")),
            "source": LAYOUT["kinds"].index(members.get("source", "")),
            "target": LAYOUT["kinds"].index(members.get("target", "")),
        }

    def _site(self, place: str) -> int:
        if place not in self._sites:
            number = len(self._sites)
            is_python = int(".py:" in place)
            self.put("sites", number - 1, key=number, ready=1, is_python=is_python, place=place)
            self._sites[place] = number
        return self._sites[place]


def upload(file: CounterFile, each: int, ns: int, **members: Any) -> CounterFile:  # noqa: ANN401
    """Add uploads; pageable ones unless it is said otherwise."""
    ends = {"source": "pageable", "target": "device"} | members
    return file.row("cuMemcpyHtoDAsync_v2", "copy", each=each, ns=ns, **ends)


def download(file: CounterFile, each: int, ns: int, **members: Any) -> CounterFile:  # noqa: ANN401
    """Add downloads; pageable ones unless it is said otherwise."""
    ends = {"source": "device", "target": "pageable"} | members
    return file.row("cuMemcpyDtoHAsync_v2", "copy", each=each, ns=ns, **ends)


def _pack(data: bytearray, record: str, at: int, members: Bytes) -> None:
    places = {
        name: (kind, number, offset) for name, kind, number, offset in LAYOUT["records"][record][1]
    }
    for name, value in members.items():
        kind, number, offset = places[name]
        packed = value.encode() if isinstance(value, str) else value
        struct.pack_into(f"<{number}{kind}", data, at + offset, packed)

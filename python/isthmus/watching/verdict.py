"""
What a program's copies cost, and what it could have had: each second counts for one cause.

The causes take their share in this order: bytes that were copied again (they needn't be copied at
all), tiny copies, pageable ones. What pins memory and what waits are calls of their own.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from isthmus.decide.profile.model import Path
from isthmus.decide.profile.plan import MARGINS
from isthmus.watching.costs import Costs
from isthmus.watching.counters import Calls, Process, Site
from isthmus.watching.layout import layout

_NS = 1e-9
# What is left of a row may be a fraction of a copy.
_A_COPY = 0.5
TINY_BYTES = 64 << 10
"""Smaller items are tiny: what every copy costs is most of their time."""
_TINY_BITS = TINY_BYTES.bit_length() - 1
# Fewer tiny copies, or less often pinned memory, are no loop.
_MANY_COPIES, _MANY_PINS = 100, 8


class Cause(StrEnum):
    """Why seconds were avoidable."""

    REPEATED = "copied again"
    TINY = "tiny copies"
    PAGEABLE_UP = "pageable uploads"
    PAGEABLE_DOWN = "pageable downloads"
    PINNING = "pinning in a loop"
    WAITING = "waiting for a copy"


ADVICE = {
    Cause.REPEATED: "keep it on the GPU: these seem to be the same bytes (16 words of each upload "
    "were compared)",
    Cause.TINY: "copy them together (one buffer, or one isthmus.copy of lists); collect results "
    "such as .item() on the GPU",
    Cause.PAGEABLE_UP: "use isthmus.copy, `isthmus exec` (above 2 MiB), or a pinned source that "
    "is kept (isthmus.pinned, pin_memory=True)",
    Cause.PAGEABLE_DOWN: "use isthmus.copy, `isthmus exec`, or a pinned target that is kept "
    "(isthmus.pinned)",
    Cause.PINNING: "pin once and keep the buffer; isthmus.pinned keeps what is freed",
    Cause.WAITING: "wait where the result is needed, and compute meanwhile (an event, "
    "isthmus.copy_async)",
}


@dataclass
class Share:
    """Seconds at one place, and what is predicted instead."""

    site: Site
    calls: float = 0
    bytes: float = 0
    now: float = 0
    predicted: float = 0

    @property
    def saved(self) -> float:
        """The avoidable seconds."""
        return self.now - self.predicted


@dataclass
class Finding:
    """What one cause took, and would take; the places in order of what they lose."""

    cause: Cause
    shares: list[Share]

    def total(self, of: Callable[[Share], float]) -> float:
        """Add up one number of all places."""
        return sum(map(of, self.shares))


@dataclass
class Verdict:
    """
    The whole answer, in seconds.

    Attributes:
        copying: In calls that copy, without waiting for earlier work.
        pinning: In calls that pin and unpin memory.
        waiting: In waits that directly follow a copy.
        findings: The causes of avoidable seconds, the largest first.
    """

    copying: float
    pinning: float
    waiting: float
    findings: list[Finding] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """All of these."""
        return self.copying + self.pinning + self.waiting

    @property
    def avoidable(self) -> float:
        """Of the seconds."""
        return sum(one.total(lambda share: share.saved) for one in self.findings)


@dataclass
class _Portion:
    """What is left of a row for the causes that follow."""

    row: Calls
    items: float
    bytes: float
    seconds: float

    def take(self, part: float) -> float:
        """Take a part away; give its seconds."""
        taken = self.seconds * part
        self.seconds -= taken
        self.items *= 1 - part
        self.bytes *= 1 - part
        return taken


def verdict_on(processes: Sequence[Process], costs: Costs) -> Verdict:
    """Judge what processes have counted together."""
    rows = [row for process in processes for row in process.calls]
    copies = ((row, one) for one in processes for row in one.calls if row.kind == "copy")
    portions = [_portion(row, process) for row, process in copies if row.direction]
    found = [
        Finding(Cause.REPEATED, list(_repeated(portions, processes))),
        Finding(Cause.TINY, list(_tiny(portions, costs))),
        Finding(Cause.PAGEABLE_UP, list(_pageable(portions, "up", costs))),
        Finding(Cause.PAGEABLE_DOWN, list(_pageable(portions, "down", costs))),
        Finding(Cause.PINNING, list(_pinning(rows))),
        Finding(Cause.WAITING, list(_waiting(rows))),
    ]
    for one in found:
        one.shares = sorted(_by_site(one.shares), key=lambda share: -share.saved)
    return Verdict(
        copying=sum(row.own_ns for row in rows if row.kind == "copy") * _NS,
        pinning=sum(row.ns for row in rows if row.kind in {"pin", "unpin"}) * _NS,
        waiting=sum(row.hidden_ns for row in rows if row.kind == "wait") * _NS,
        findings=sorted(
            (one for one in found if one.shares),
            key=lambda one: -one.total(lambda share: share.saved),
        ),
    )


def _portion(row: Calls, process: Process) -> _Portion:
    """Leave out what the engine has copied, and what was captured: it ran later, if at all."""
    if row.captured >= row.calls:
        return _Portion(row, 0, 0, 0)
    if process.exec_mode == "on":
        left = max(0, row.bytes - row.replaced_bytes)
        seconds = max(0, row.own_ns - row.replaced_ns) * _NS
        return _Portion(row, max(0, row.items - row.replaced), left, seconds)
    return _Portion(row, row.items, row.bytes, row.own_ns * _NS)


def _repeated(portions: list[_Portion], processes: Sequence[Process]) -> Iterator[Share]:
    """
    Take all copies but the first of what seem to be the same bytes. Their place is the first one's;
    that of later ones may not have been recorded.
    """
    again: defaultdict[Site, float] = defaultdict(float)
    for process in processes:
        for repeat in process.repeats:
            if repeat.calls:
                first = 1 if repeat.first_ns else 0
                again[repeat.site] += repeat.bytes * (repeat.calls - first) / repeat.calls
    compared_bits = layout().min_repeated_bytes.bit_length()
    for site, size in again.items():
        uploads = [
            one
            for one in portions
            if one.row.site in {site, Site()}
            and one.row.direction == "up"
            and one.row.size_class >= compared_bits
            and one.bytes
        ]
        whole = sum(one.bytes for one in uploads)
        part = min(1.0, size / whole) if whole else 0.0
        for one in uploads if part else ():
            calls, taken = one.items * part, one.bytes * part
            yield Share(site, calls, taken, one.take(part), 0.0)


def _tiny(portions: list[_Portion], costs: Costs) -> Iterator[Share]:
    """Compare many tiny copies at one place with windows, or with packed copies of 64 KiB."""
    groups: defaultdict[tuple[Site, str, str], list[_Portion]] = defaultdict(list)
    for one in portions:
        if 0 < one.row.size_class <= _TINY_BITS and one.items >= _A_COPY:
            groups[one.row.site, one.row.direction, one.row.host_memory].append(one)
    for (site, direction, memory), group in groups.items():
        items, size = sum(one.items for one in group), sum(one.bytes for one in group)
        if items < _MANY_COPIES:
            continue
        now = sum(one.seconds for one in group)
        packed = costs.seconds(Path.DRIVER, direction, memory, TINY_BYTES)
        window = costs.seconds(Path.WINDOW, direction, memory, round(size / items))
        ways = [
            *([packed * math.ceil(size / TINY_BYTES)] if packed is not None else []),
            *([window * items] if window is not None else []),
        ]
        if ways and min(ways) < now:
            yield Share(site, items, size, now, min(ways))


def _pageable(portions: list[_Portion], direction: str, costs: Costs) -> Iterator[Share]:
    """Compare longer copies of pageable memory with staged ones of the same sizes."""
    for one in portions:
        row = one.row
        if (row.direction, row.host_memory) != (direction, "pageable") or one.items < _A_COPY:
            continue
        size, seconds = round(one.bytes / one.items), one.seconds / one.items
        staged = costs.instead(direction, size, seconds, Path.DRIVER, Path.STAGED)
        if size >= TINY_BYTES and staged is not None and staged * MARGINS[Path.STAGED] < seconds:
            yield Share(row.site, one.items, one.bytes, one.seconds, staged * one.items)


def _pinning(rows: Iterable[Calls]) -> Iterator[Share]:
    """Say what one kept buffer saves where memory is pinned and unpinned again and again."""
    pins: defaultdict[tuple[Site, int], list[Calls]] = defaultdict(list)
    unpins = []
    for row in rows:
        if row.kind == "pin":
            pins[row.site, row.size_class].append(row)
        elif row.kind == "unpin":
            unpins.append(row)
    pinned = sum(row.calls for group in pins.values() for row in group)
    freed = min(1.0, sum(row.calls for row in unpins) / pinned) if pinned else 0.0
    each = sum(row.ns for row in unpins) * _NS / pinned if pinned else 0.0
    for (site, _), group in pins.items():
        calls = sum(row.calls for row in group)
        now = sum(row.ns for row in group) * _NS + each * calls
        saved = now * freed * (calls - 1) / max(1, calls)
        if calls > _MANY_PINS and saved > 0:
            yield Share(site, calls, sum(row.bytes for row in group), now, now - saved)


def _waiting(rows: Iterable[Calls]) -> Iterator[Share]:
    for row in rows:
        if row.kind == "wait" and row.hidden_ns:
            yield Share(row.site, row.hidden, 0, row.hidden_ns * _NS, 0.0)


def _by_site(shares: Iterable[Share]) -> list[Share]:
    found: dict[Site, Share] = {}
    for one in shares:
        whole = found.setdefault(one.site, Share(one.site))
        whole.calls += one.calls
        whole.bytes += one.bytes
        whole.now += one.now
        whole.predicted += one.predicted
    return list(found.values())

"""A report on watched processes, as JSON has it; docs/watch.md explains every number."""

from typing import Annotated, Literal

from pydantic import Field

from isthmus.measure.run.record import Record

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class Place(Record):
    """A place in a program."""

    site: str
    """ "file.py:12 function" or "library+0x1234 symbol"; "" if unknown."""
    source_line: str
    """The text of the line; "" unless it is Python's and its file is here."""


class Loss(Place):
    """What one cause took at a place."""

    calls: Count
    bytes: Count
    seconds: Seconds
    predicted_seconds: Seconds
    """What the change would leave of these."""


class Finding(Record):
    """A cause of avoidable seconds."""

    cause: str
    change: str
    """What to change."""
    calls: Count
    bytes: Count
    seconds: Seconds
    predicted_seconds: Seconds
    places: list[Loss]
    """Those that lose most come first."""


class Verdict(Record):
    """What copies took, and what was avoidable."""

    seconds: Seconds
    """The sum of the next three."""
    copy_seconds: Seconds
    """In calls that copy, without waiting for earlier work in their streams."""
    pinning_seconds: Seconds
    """In calls that pin and unpin host memory."""
    copy_wait_seconds: Seconds
    """In waits that directly follow a copy of the same thread in the same stream."""
    avoidable_seconds: Seconds
    findings: list[Finding]


class Sums(Record):
    """Sums over calls."""

    calls: Count
    items: Count
    """Copies: a call may make several."""
    bytes: Count
    seconds: Seconds
    """Without wait_seconds."""
    longest_seconds: Seconds
    """Of one call, with its waiting."""
    wait_seconds: Seconds
    """Until earlier work in the stream was complete."""
    captured: Count
    failed: Count
    hidden: Count
    """Hidden synchronisation; of waits: those that directly follow a copy."""
    hidden_seconds: Seconds
    replaced: Count
    """Copies that the engine made; in an audit, would have made."""
    replaced_bytes: Count
    replaced_seconds: Seconds


class EntryLine(Sums):
    """Calls of an entry point between two kinds of memory, of one size class."""

    entry: str
    kind: str
    """What it does: copy, wait, pin, unpin, alloc, free, launch, resolve or control."""
    direction: Literal["up", "down", ""]
    source: str
    target: str
    size_from_bytes: Count
    """Items have so many bytes, and less than twice as many."""


class SiteLine(Sums, Place):
    """Copies and waits of one place."""


class ThreadLine(Sums):
    """Copies and waits of one thread."""

    pid: Count
    tid: Count
    name: str


class StreamLine(Sums):
    """Copies and waits in one stream of a process."""

    pid: Count
    stream: str
    """The handle in hex; 0x0 to 0x2 are CUDA's default streams."""


class ProcessLine(Sums):
    """Copies and waits of one process."""

    pid: Count
    parent_pid: Count
    rank: str
    command: str
    ended: bool
    """False: it still ran, or was killed."""
    launches: Count


class Replaced(Record):
    """What `isthmus exec` did, or in an audit would have done."""

    audit: bool
    copies: Count
    bytes: Count
    seconds: Seconds
    """What they took; in an audit by the driver."""
    predicted_seconds: Seconds
    """What they would have taken by the driver; in an audit by the engine."""
    saved_seconds: float
    failed: Count
    reason: str
    """Why the engine was not used, or failed last."""


class Violation(Record):
    """A condition of --fail-on that doesn't hold."""

    condition: str
    why: str
    places: list[Place]


class WatchReport(Record):
    """The whole report."""

    schema_version: Literal[1] = 1
    isthmus_version: str
    command: list[str]
    exit_code: int | None
    """128 plus its number after a signal; null if counters were only read."""
    modelled: bool
    """Some times are of the emulated driver: they are modelled."""
    estimated: bool
    """The predictions are not of this machine's profile."""
    predicted_by: str
    rank: str
    """Of the only process, or of all; "" for none."""
    seconds: Seconds
    """From the first call of the driver to the last known end."""
    verdict: Verdict
    entries: list[EntryLine]
    sites: list[SiteLine]
    threads: list[ThreadLine]
    streams: list[StreamLine]
    processes: list[ProcessLine]
    replaced: Replaced | None
    violations: list[Violation]
    notes: list[str]
    """What couldn't be seen."""
    ranks: list["WatchReport"] = Field(default_factory=list)
    """Reports of each rank by itself."""

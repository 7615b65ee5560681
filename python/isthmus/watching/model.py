"""A report on watched processes, as JSON has it; docs/watch.md explains every number."""

from typing import Annotated, Literal

from pydantic import Field

from isthmus.measure.run.record import Record

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
NO_CUDA = "no call of the CUDA driver was seen"


class Place(Record):
    """A place in a program."""

    site: str
    """ "file.py:12 function" or "library+0x1234 symbol"; "" if unknown."""
    source_line: str
    """The text of the line; "" unless it is Python's and its file is here."""


class Loss(Place):
    """What one cause took at a place, and what the change would leave of that."""

    calls: Count
    bytes: Count
    seconds: Seconds
    predicted_seconds: Seconds


class Finding(Record):
    """A cause of avoidable seconds, and what to change; the worst places come first."""

    cause: str
    change: str
    calls: Count
    bytes: Count
    seconds: Seconds
    predicted_seconds: Seconds
    places: list[Loss]


class Verdict(Record):
    """What copies took (the sum of the next three numbers), and what of it was avoidable."""

    seconds: Seconds
    copy_seconds: Seconds
    pinning_seconds: Seconds
    copy_wait_seconds: Seconds
    avoidable_seconds: Seconds
    findings: list[Finding]


class Sums(Record):
    """Sums over calls."""

    calls: Count
    items: Count
    bytes: Count
    seconds: Seconds
    """Without wait_seconds."""
    longest_seconds: Seconds
    """Of one call, with its waiting."""
    wait_seconds: Seconds
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
    """Copies and waits in one stream of a process; 0x0 to 0x2 are CUDA's default streams."""

    pid: Count
    stream: str


class ProcessLine(Sums):
    """Copies and waits of one process; one that hasn't ended still ran, or was killed."""

    pid: Count
    parent_pid: Count
    rank: str
    command: str
    ended: bool
    launches: Count


class Replaced(Record):
    """
    What `isthmus exec` did, with the prediction for the driver; in an audit, what the driver did,
    with the prediction for the engine.
    """

    audit: bool
    copies: Count
    bytes: Count
    seconds: Seconds
    predicted_seconds: Seconds
    saved_seconds: float
    pinned: Count
    """Allocations of pinned memory that the pool served (--pin)."""
    failed: Count
    reason: str
    """Why the engine was not used, or failed last."""


class Violation(Record):
    """A condition of --fail-on that is met."""

    condition: str
    why: str
    places: list[Place]


class WatchReport(Record):
    """The whole report."""

    schema_version: Literal[1] = 1
    isthmus_version: str
    command: list[str]
    exit_code: int | None
    """128 and the signal's number after a signal; null if counters were only read."""
    modelled: bool
    """Some times are of the emulated driver."""
    estimated: bool
    """The predictions are not of this machine's profile."""
    predicted_by: str
    rank: str
    """Of all processes; "" for none or several."""
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

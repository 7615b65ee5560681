"""
What a node is asked to measure, what it answers, and what has become of a measurement that left
no run. All of it is JSON, so that no objects cross the network.

A node builds the command itself. A task has only what a measurement needs: nothing else can be run.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, PositiveFloat, ValidationError

from isthmus.errors import UsageError
from isthmus.files.regular import read_regular
from isthmus.measure.run.record import Integer, PositiveInteger, Record, first_fault

_MAX_BYTES = 1 << 20


class Outcome(StrEnum):
    """How a measurement ended without a run."""

    FAILED = "failed"
    """`isthmus bench` ended with an error."""
    NO_DEVICE = "no device"
    """The node has no GPU."""
    TIMED_OUT = "timed out"
    WORKER_LOST = "worker lost"
    """The worker died, or was never there."""
    GARBAGE = "garbage"
    """What came back is not a run."""


class Attempt(Record):
    """One measurement of one node that has left no run."""

    schema_version: Literal[1] = 1
    node: str
    device: str | None
    """As it was asked for; null for the node's own choice."""
    number: PositiveInteger
    """Which of the node's repeats."""
    outcome: Outcome
    reason: str
    """In one line."""
    exit_code: Integer | None
    """Of `isthmus bench`; null if it didn't end, or wasn't begun."""
    ended_at: AwareDatetime


def read_attempt(path: Path) -> Attempt:
    """Read an attempt's file."""
    try:
        return Attempt.model_validate_json(read_regular(path, max_bytes=_MAX_BYTES))
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}") from cause
    except ValidationError as cause:
        raise UsageError(f"{path} is not an attempt: {first_fault(cause)}") from None


# None of these begins with "-": it is an argument, and can't become an option.
_Word = Annotated[str, Field(pattern=r"^[\w*?\[\]][\w.,:*?\[\]-]*$", max_length=4096)]


class Task(Record):
    """One measurement of one node."""

    suites: list[_Word]
    tests: list[_Word]
    sizes: _Word | None = None
    quick: bool = True
    budget_s: PositiveFloat | None = None
    devices: list[_Word]
    """The GPUs, one after the other; all of them at once if `at_once`."""
    at_once: bool = False
    number: PositiveInteger = 1
    """Which of the node's repeats."""
    timeout_s: PositiveFloat
    """Of each GPU's measurement."""


class Answer(Record):
    """What became of the measurement of one GPU."""

    device: str
    outcome: Outcome | None
    """Null if there is a run."""
    run: str = ""
    """The run's JSON, as `isthmus bench` printed it; not read on the node."""
    reason: str = ""
    exit_code: Integer | None = None


class Answers(Record):
    """What a node gives back for a task."""

    answers: list[Answer]


class Introduction(Record):
    """What a node says of itself."""

    schema_version: Literal[1] = 1
    hostname: str
    isthmus_version: str

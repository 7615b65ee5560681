"""What has become of a measurement that has left no run: its own record in a folder of runs."""

from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, ValidationError

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

"""One line of a diagnosis, and the whole of it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, JsonValue

from isthmus.measure.run.record import Record


class Status(StrEnum):
    """What a fact means for moving data."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing is broken."""
    PROBLEM = "problem"
    """Something is broken, or slower than this hardware allows."""


class Check(Record):
    """What was checked, what was found, and what to do about it."""

    name: str
    """The same on every machine: "driver", "gpu 0 link"."""
    status: Status
    finding: str
    """One line of text."""
    advice: str | None = None
    """What to do; null if there is nothing to do."""
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    """The same for programs: bytes, numbers, names."""


def judged(
    name: str,
    finding: str,
    advice: str | None = None,
    facts: Mapping[str, Any] | None = None,
    status: Status | None = None,
) -> Check:
    """Make a check: by default a note if it has advice, otherwise ok."""
    usual = Status.NOTE if advice else Status.OK
    told = dict(facts or {})
    return Check(name=name, status=status or usual, finding=finding, advice=advice, facts=told)


class Diagnosis(Record):
    """The output of `isthmus doctor`."""

    schema_version: Literal[1] = 1
    emulated: bool
    """True: the devices are emulated."""
    checks: list[Check]

    @property
    def has_problem(self) -> bool:
        """Whether anything is broken or slower than it should be."""
        return any(check.status == Status.PROBLEM for check in self.checks)

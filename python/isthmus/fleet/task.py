"""
What a node is asked to measure, and what it answers: JSON, so that no objects cross the network.

A node builds the command itself. A task has only what a measurement needs: nothing else can be run.
"""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from isthmus.fleet.attempt import Outcome
from isthmus.measure.run.record import Integer, PositiveInteger, Record

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

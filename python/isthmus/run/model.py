"""A run: what one `isthmus bench` measured, on what, and how it was asked to."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime

from isthmus.run.machine import Machine
from isthmus.run.record import PositiveInteger, Record
from isthmus.run.result import Result, Status
from isthmus.suggest import writable

__all__ = ["Identity", "Options", "Result", "Run", "Status"]


class Identity(Record):
    """Which run this is."""

    id: str
    started_at: AwareDatetime
    finished_at: AwareDatetime
    isthmus_version: str
    command: list[Annotated[str, AfterValidator(writable)]]
    """The command line, one item an argument. Of file names any byte can be part."""
    interrupted: bool
    """True if Ctrl-C ended it early: the results are those that were finished."""


class Options(Record):
    """What was asked for, with the defaults filled in."""

    device: str | None
    """As given; null if the device was chosen automatically."""
    tests: list[str]
    sizes: list[PositiveInteger] | None
    """Sizes of the bandwidth tests in bytes; null for the default sweep."""
    quick: bool = False
    """Fewer sizes and circumstances."""
    managed: bool = False
    """Whether managed memory was to be measured."""
    max_bytes: PositiveInteger | None = None
    """The most memory of each side that a measurement was allowed; null for what was free."""
    budget_s: float
    """How long the measurements may take together."""
    samples: bool
    """Whether raw samples were asked for."""
    runs: PositiveInteger | None = None
    """How many runs of the small-transfer experiments were asked for; null for the default."""
    num_samples: PositiveInteger | None = None
    """How many of each metric were asked for; null where each test decided."""
    verify: bool = True
    """Whether the bytes that arrived were to be compared with those sent."""
    bind: bool = True
    """Whether thread and memory were to be bound to the GPU's NUMA node."""


class Run(Record):
    """The whole file."""

    schema_version: Literal[1]
    run: Identity
    machine: Machine
    options: Options
    results: list[Result]

    @property
    def failed(self) -> bool:
        """Whether any result is an error."""
        return any(result.status == Status.ERROR for result in self.results)

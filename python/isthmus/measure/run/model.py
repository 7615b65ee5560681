"""A run: what one `isthmus bench` measured, on which machine, and with which options."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime

from isthmus.ground.spelling import writable
from isthmus.measure.run.machine import Machine
from isthmus.measure.run.record import Name, PositiveInteger, Record
from isthmus.measure.run.result import Result, Status

__all__ = ["Identity", "Options", "Result", "Run", "Status"]


class Identity(Record):
    """The run's identity."""

    id: Name
    started_at: AwareDatetime
    finished_at: AwareDatetime
    isthmus_version: str
    command: list[Annotated[str, AfterValidator(writable)]]
    """The command line, one item an argument. File names may have any bytes."""
    interrupted: bool
    """True if Ctrl-C ended it early: it has the results that were finished."""


class Options(Record):
    """The request, with the defaults filled in."""

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
    """The most memory that a measurement could allocate on each side; null for what was free."""
    budget_s: float
    """How long the measurements could take together."""
    samples: bool
    """Whether raw samples were requested."""
    runs: PositiveInteger | None = None
    """The requested number of runs of the small-copy experiments; null for the default."""
    num_samples: PositiveInteger | None = None
    """The requested number of samples of each metric; null if each test decided."""
    repeat: PositiveInteger | None = None
    """The requested number of fresh processes, of which each measured everything; null: none."""
    verify: bool = True
    """Whether the bytes that arrived were compared with those sent."""
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

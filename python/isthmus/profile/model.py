"""A profile's file: the costs of every path, and the machine on which they were measured."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, PositiveFloat, model_validator

from isthmus.run.record import PositiveInteger, Record

__all__ = [
    "Cost",
    "CostPoint",
    "MachineIdentity",
    "Measured",
    "NotMeasured",
    "Path",
    "Profile",
    "StagingThreads",
    "Way",
]


class Path(StrEnum):
    """A path of a copy."""

    WINDOW = "window"
    WINDOW_THREADS = "window_threads"
    DRIVER = "driver"
    STAGED = "staged"
    REGISTERED = "registered"


class Way(Record):
    """What a cost belongs to."""

    path: Path
    direction: Literal["h2d", "d2h"]
    host_memory: Literal["pageable", "pinned"]


class CostPoint(Record):
    """One copy: its size, and how long it took until its bytes had arrived."""

    bytes: PositiveInteger
    seconds: PositiveFloat


class Cost(Way):
    """A curve: straight lines between its points."""

    points: Annotated[list[CostPoint], Field(min_length=1)]
    """By ascending size."""

    @model_validator(mode="after")
    def _points_ascend(self) -> Self:
        sizes = [point.bytes for point in self.points]
        if sizes != sorted(set(sizes)):
            raise ValueError("points must be given by ascending size")
        return self


class NotMeasured(Way):
    """A path that can't be used here, and why."""

    reason: str


class MachineIdentity(Record):
    """What the costs depend on. A profile of another GPU, link or driver isn't used."""

    emulated: bool
    """True: every number is modelled, and only emulated devices use them."""
    gpu_uuid: str
    gpu_name: str
    link: str
    """ "PCIe Gen5 x16", "NVLink-C2C" or "emulated link"."""
    cuda_version: PositiveInteger
    """The version that the driver implements: 13000 is CUDA 13.0."""
    driver_release: str | None
    """ "580.159.04"; null if unknown."""
    cpu_model: str | None
    num_cores: PositiveFloat
    """Cores for copies: with fewer, the costs of paths with threads are raised."""


class Measured(Record):
    """When and how."""

    finished_at: AwareDatetime
    seconds: PositiveFloat
    """How long it took."""
    quick: bool
    isthmus_version: str


class StagingThreads(Record):
    """The best number of threads for staging long copies, with the caller's; null: unknown."""

    h2d: PositiveInteger | None
    d2h: PositiveInteger | None


class Profile(Record):
    """The whole file."""

    schema_version: Literal[2]
    measurement: Measured
    machine: MachineIdentity
    window_opening_seconds: PositiveFloat | None
    """The cost of mapping a buffer before a copy through its window; null without windows."""
    staging_threads: StagingThreads
    """The number of threads with which staging was measured."""
    costs: list[Cost]
    not_measured: list[NotMeasured]

    def age_seconds(self, now: datetime) -> float:
        """Give its age; 0 if it is from the future, by a clock that was wrong."""
        return max(0.0, (now - self.measurement.finished_at).total_seconds())

    def cost(self, path: str, direction: str, host_memory: str) -> Cost | None:
        """Find a curve; None if that path wasn't measured."""
        for cost in self.costs:
            if (cost.path, cost.direction, cost.host_memory) == (path, direction, host_memory):
                return cost
        return None

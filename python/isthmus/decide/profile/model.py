"""A profile's file: the costs of every path, and the machine on which they were measured."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AwareDatetime, Field, PositiveFloat, model_validator

from isthmus.measure.run.record import PositiveInteger, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus import _native

__all__ = [
    "Cost",
    "CostPoint",
    "MachineIdentity",
    "Measured",
    "MemoryCost",
    "MemoryKind",
    "MemoryPoint",
    "NewMemoryDownload",
    "NotMeasured",
    "Path",
    "Profile",
    "StagingThreads",
    "StagingTime",
    "Timing",
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


class Timing(Record):
    """A median, and the quartiles of what was measured; null: not recorded."""

    seconds: PositiveFloat
    low_seconds: PositiveFloat | None = None
    high_seconds: PositiveFloat | None = None


class CostPoint(Timing):
    """One copy: its size, and how long it took until its bytes had arrived."""

    bytes: PositiveInteger


def _require_ascending(points: "Sequence[CostPoint | MemoryPoint]") -> None:
    sizes = [point.bytes for point in points]
    if sizes != sorted(set(sizes)):
        raise ValueError("points must be given by ascending size")


class Cost(Way):
    """A curve: straight lines between its points."""

    points: Annotated[list[CostPoint], Field(min_length=1)]
    """Of copies that follow each other; by ascending size."""
    after_pause: list[CostPoint] = Field(default_factory=list)
    """Of copies after a pause, when helper threads sleep and caches are cold; empty: not measured.
    By ascending size; what a pause adds is a straight line between two of them."""

    @model_validator(mode="after")
    def _points_ascend(self) -> Self:
        _require_ascending(self.points)
        _require_ascending(self.after_pause)
        return self


class MemoryKind(StrEnum):
    """A kind of host memory, by how it is allocated, again and again, and freed each time."""

    PAGEABLE = "pageable"
    """malloc, and a write to each page. The C library keeps small memory, with its pages."""
    PINNED = "pinned"
    """cudaMallocHost. The driver keeps small memory."""
    REGISTERED = "registered"
    """cudaHostRegister of memory that has its pages."""
    NEW_PINNED = "new_pinned"
    """isthmus.pinned, when its pool is empty and is trimmed to nothing afterwards."""
    POOL = "pool"
    """isthmus.pinned, when its pool has the memory."""


class MemoryPoint(Record):
    """What a buffer of one size costs."""

    bytes: PositiveInteger
    allocate: Timing
    """With all of its pages."""
    free: Timing


class MemoryCost(Record):
    """The costs of one kind of host memory."""

    memory: MemoryKind
    points: Annotated[list[MemoryPoint], Field(min_length=1)]
    """By ascending size."""

    @model_validator(mode="after")
    def _points_ascend(self) -> Self:
        _require_ascending(self.points)
        return self


class NewMemoryDownload(Record):
    """Downloads into what malloc gives: allocation, copy and freeing in one."""

    path: Literal[Path.DRIVER, Path.STAGED]
    points: Annotated[list[CostPoint], Field(min_length=1)]
    """By ascending size."""

    @model_validator(mode="after")
    def _points_ascend(self) -> Self:
        _require_ascending(self.points)
        return self


class StagingTime(Record):
    """A staged copy by some number of threads, with the caller's."""

    direction: Literal["h2d", "d2h"]
    bytes: PositiveInteger
    threads: PositiveInteger
    seconds: PositiveFloat


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
    memory: list[MemoryCost] = Field(default_factory=list)
    """What host memory costs, for advice; empty: not measured."""
    new_memory_downloads: list[NewMemoryDownload] = Field(default_factory=list)
    """What a download costs whose copy is the first to touch its target."""
    staging_times: list[StagingTime] = Field(default_factory=list)
    """What fewer threads reach."""

    def age_seconds(self, now: datetime) -> float:
        """Give its age; 0 if it is from the future, by a clock that was wrong."""
        return max(0.0, (now - self.measurement.finished_at).total_seconds())

    def cost(self, path: str, direction: str, host_memory: str) -> Cost | None:
        """Find a curve; None if that path wasn't measured."""
        for cost in self.costs:
            if (cost.path, cost.direction, cost.host_memory) == (path, direction, host_memory):
                return cost
        return None

    def memory_cost(self, memory: MemoryKind) -> MemoryCost | None:
        """Find what a kind of memory costs; None if it wasn't measured."""
        return next((cost for cost in self.memory if cost.memory == memory), None)


def machine_of(identity: "_native.ProfileIdentity") -> MachineIdentity:
    """Describe the machine that the native module sees."""
    return MachineIdentity(
        emulated=identity.emulated,
        gpu_uuid=identity.gpu_uuid,
        gpu_name=identity.gpu_name,
        link=identity.link,
        cuda_version=identity.cuda_version,
        driver_release=identity.driver_release or None,
        cpu_model=identity.cpu_model or None,
        num_cores=identity.num_cores,
    )

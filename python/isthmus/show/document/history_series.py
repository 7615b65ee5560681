"""The figures that a history follows, from run to run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from isthmus.ground.sizes import format_size
from isthmus.measure.compare.machines import identity_of
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind, directed_name
from isthmus.show.document.lookup import DIRECTIONS, bandwidths, passed

BySize = dict[int, Result]
_SMALL_COPIES = "Small copies, until complete"
_USUAL_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class Subject:
    """
    One figure that is followed.

    Attributes:
        find: Its results in a run, by their size.
    """

    picture: str
    name: str
    find: Callable[[Run], BySize]


@dataclass(frozen=True, kw_only=True)
class Series:
    """
    A figure of one machine, from run to run.

    Attributes:
        name: Its name, with its size, and its machine if there are several.
        results: The runs that have it, in the order of time, each with its result.
        in_last_run: Whether the last run of the machine has it.
    """

    subject: Subject
    name: str
    results: tuple[tuple[Run, Result], ...]
    in_last_run: bool

    @property
    def change(self) -> float | None:
        """
        The last run's value over the median of the earlier ones, less 1; None if there is one value
        only, or if the machine's last run has none.
        """
        if not self.in_last_run:
            return None
        values = [result.median or 0.0 for _, result in self.results]
        usual = median(values[:-1]) if values[:-1] else 0.0
        return values[-1] / usual - 1 if usual else None


def _copies(direction: str, way: str) -> Callable[[Run], BySize]:
    return lambda run: bandwidths(run, direction, way)


def _small(direction: str, way: str) -> Callable[[Run], BySize]:
    test = directed_name(direction, Kind.SMALL_COPY, way)
    return lambda run: passed(run, test, "completion")


def _pinning(way: str) -> Callable[[Run], BySize]:
    return lambda run: passed(run, f"alloc_{way}", "allocate")


_SUBJECTS = (
    *(
        Subject(picture="Large copies", name=f"{noun}, {memory}", find=_copies(to, way))
        for memory, way in (("pinned", "ce"), ("pageable", "pageable"))
        for to, noun in DIRECTIONS.items()
    ),
    *(
        Subject(picture=_SMALL_COPIES, name=f"{noun}, {way}", find=_small(to, way))
        for way in ("blocking", "window")
        for to, noun in DIRECTIONS.items()
    ),
    *(
        Subject(picture="Pinning memory", name=name, find=_pinning(way))
        for name, way in (
            ("cudaMallocHost", "cuda_malloc_host"),
            ("isthmus.pinned", "isthmus_pinned"),
        )
    ),
)


def all_series(runs: Sequence[Run]) -> list[Series]:
    """Follow every main figure that some run has; runs are in the order of time."""
    machines: dict[tuple[str | None, ...], list[Run]] = {}
    for run in runs:
        machines.setdefault(identity_of(run.machine), []).append(run)
    found = []
    for number, own in enumerate(machines.values(), start=1):
        device = own[0].machine.device.name
        whose = f", {device} ({number})" if len(machines) > 1 else ""
        found += [one for subject in _SUBJECTS if (one := _series(subject, own, whose))]
    return found


def _series(subject: Subject, runs: Sequence[Run], whose: str) -> Series | None:
    """Follow a figure at the largest (of small copies: 4 B or the smallest) size that all have."""
    having = [(run, found) for run in runs if (found := subject.find(run))]
    if not having:
        return None
    common = set.intersection(*(set(found) for _, found in having))
    if not common:
        return None
    is_small = subject.picture == _SMALL_COPIES
    size = min(common, key=lambda one: abs(one - _USUAL_BYTES)) if is_small else max(common)
    return Series(
        subject=subject,
        name=f"{subject.name}, {format_size(size)}{whose}",
        results=tuple((run, found[size]) for run, found in having),
        in_last_run=having[-1][0] is runs[-1],
    )

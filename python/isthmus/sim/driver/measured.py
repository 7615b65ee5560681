"""What a run says about managed memory: the points that the simulator predicts."""

from dataclasses import dataclass
from enum import StrEnum

from isthmus.errors import UsageError
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result, Status

FAULT_PAGES = 32
"""Pages of a round of `managed_page_fault`: isthmus/bench/tests/managed.py."""


class Access(StrEnum):
    """What a kernel or the CPU did with managed memory."""

    PAGE_FAULT = "page fault"
    """One thread read a word in one page after the other, 2 MiB apart."""
    CPU_FAULT = "page fault of the CPU"
    """Then the CPU read the same words, and took their pages back."""
    READ = "read on demand"
    """All of the memory was read once, and migrated."""
    RANDOM = "read at random"
    """The same, but one page of 4 KiB after the other in a random order, each once."""
    THRASHED = "read while thrashing"
    """The GPU had room for half of it, and another kernel had read all of it in the same order."""
    THRASHED_RANDOM = "read at random while thrashing"
    """The same, in a random order."""
    REMOTE = "read in place"
    """All of it was read once over the link: it was advised to stay."""
    PREFETCHED = "prefetched"
    """All of it was prefetched, by one call; no kernel ran."""
    CPU_READ = "read by the CPU"
    """A kernel had written all of it, and the CPU read a byte of each page: it migrated back."""
    PREFETCHED_BACK = "prefetched back"
    """A kernel had written all of it, and it was prefetched to the CPU, by one call."""
    WRITTEN = "written in place"
    """A kernel wrote all of it over the link: it was advised to stay."""


PREDICTED = {
    ("managed_page_fault", "device_fault"): Access.PAGE_FAULT,
    ("managed_page_fault", "host_fault"): Access.CPU_FAULT,
    ("host_to_device_managed_demand", "bandwidth"): Access.READ,
    ("host_to_device_managed_demand_random", "bandwidth"): Access.RANDOM,
    ("host_to_device_managed_thrashing", "bandwidth"): Access.THRASHED,
    ("host_to_device_managed_thrashing_random", "bandwidth"): Access.THRASHED_RANDOM,
    ("host_to_device_managed_advised", "bandwidth"): Access.REMOTE,
    ("host_to_device_managed_prefetched", "bandwidth"): Access.PREFETCHED,
    ("device_to_host_managed_demand", "bandwidth"): Access.CPU_READ,
    ("device_to_host_managed_prefetched", "bandwidth"): Access.PREFETCHED_BACK,
    ("device_to_host_managed_advised", "bandwidth"): Access.WRITTEN,
}
"""The results of `isthmus bench` that are points: test and metric."""


@dataclass(frozen=True, kw_only=True)
class DriverPoint:
    """
    One measured time.

    Attributes:
        size_bytes: The bytes that were read; of a page fault those of one page.
        seconds: The median; of a page fault for one page.
    """

    access: Access
    size_bytes: int
    seconds: float


def points_of(run: Run, *, or_none: bool = False) -> list[DriverPoint]:
    """
    List a run's points, by access and rising size; without any it is refused, unless it has others
    that are predicted.
    """
    if run.machine.emulated:
        raise UsageError(
            "this run is of the emulated device, whose driver is modelled itself",
            hint="give a run of `isthmus bench --managed` on a GPU",
        )
    points = [point for result in run.results if (point := _point(result)) is not None]
    if not points and not or_none:
        raise UsageError(
            "this run has no results of managed memory that the simulator predicts",
            hint="`isthmus bench --managed -t '*managed*'` measures them, on a GPU",
        )
    order = list(Access)
    return sorted(points, key=lambda point: (order.index(point.access), point.size_bytes))


def not_predicted(run: Run) -> list[str]:
    """Name the tests of managed memory that the simulator doesn't predict."""
    known = {test for test, _ in PREDICTED}
    named = (result.test for result in run.results if result.status == Status.PASSED)
    return sorted({test for test in named if "_managed_" in test} - known)


def _point(result: Result) -> DriverPoint | None:
    access = PREDICTED.get((result.test, result.metric))
    plain = result.status == Status.PASSED and result.median and not result.axes
    if access is None or not plain or result.median is None:
        return None
    is_rate = access not in {Access.PAGE_FAULT, Access.CPU_FAULT}
    seconds = result.bytes / result.median if is_rate else result.median
    return DriverPoint(access=access, size_bytes=result.bytes, seconds=seconds)

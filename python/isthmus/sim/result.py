"""The result of a simulation, as NumPy arrays and numbers. All of it is modelled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isthmus import _native

_PS_PER_S = 1e12
Integers = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkUtilisation:
    """
    How busy the link was over time.

    Attributes:
        bin_seconds: Length of a bin.
        to_gpu: Share of each bin, from 0 to 1.
        to_cpu: The other direction.
    """

    bin_seconds: float
    to_gpu: npt.NDArray[np.float64]
    to_cpu: npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class SimulationResult:
    """
    One run.

    Attributes:
        modelled: True: no number here was measured.
        total_ps: The program's time.
        least_ps: A bound below it: what the cores need at least, or the link if it is busy longer.
        copy_ps: The part of it for the programmer's copies and for what the CPU takes back; with
            overlapped copies, that in which no kernel runs.
        kernel_ps: The part of it for kernels.
        launch_ps: Start and end of each launch, shape (num_launches, 2).
        stall_ps: The reasons for which warps waited, summed over warps: issue, memory, translation,
            migration, barrier.
        traffic_bytes: Over the link, by cause.
        tlb: Look-ups and misses, by every reading of the word.
        caches: Hits and misses of both levels, and lines of DRAM.
        counts: Migrations, transfers, waits, evictions and the like.
        ranges_per_page: [n]: pages with n valid ranges at the end.
        accessed_share: The share of the bytes copied or migrated to the GPU that it accessed since.
        link: How busy it was.
        link_busy_ps: The total: to the GPU, to the CPU.
        event_digest: Equal for equal runs.
    """

    modelled: bool
    total_ps: int
    least_ps: int
    copy_ps: int
    kernel_ps: int
    launch_ps: Integers
    stall_ps: "Mapping[str, int]"
    traffic_bytes: "Mapping[str, int]"
    tlb: "Mapping[str, int]"
    caches: "Mapping[str, int]"
    counts: "Mapping[str, int]"
    ranges_per_page: Integers
    accessed_share: float
    link: LinkUtilisation
    link_busy_ps: tuple[int, int]
    event_digest: int

    @property
    def total_seconds(self) -> float:
        """The program's time on the modelled machine."""
        return self.total_ps / _PS_PER_S

    @property
    def bytes_to_gpu(self) -> int:
        """All bytes that crossed to the GPU."""
        return sum(size for cause, size in self.traffic_bytes.items() if cause.endswith("to_gpu"))

    @property
    def moved_nothing(self) -> bool:
        """Whether the program asked for memory, and no byte crossed the link either way."""
        return bool(self.counts["line_requests"]) and not (self.bytes_to_gpu + self.bytes_to_cpu)

    @property
    def bytes_to_cpu(self) -> int:
        """All bytes that crossed to the CPU."""
        return sum(size for cause, size in self.traffic_bytes.items() if cause.endswith("to_cpu"))

    @property
    def max_ranges(self) -> int:
        """The most valid ranges that a page had at the end."""
        pages = np.flatnonzero(self.ranges_per_page)
        return int(pages[-1]) if pages.size else 0

    @property
    def mean_ranges(self) -> float:
        """The mean number of valid ranges of the pages that had any at the end."""
        pages = self.ranges_per_page
        total = int(pages.sum())
        return float(np.arange(pages.size) @ pages) / total if total else 0.0

    def flat(self) -> "dict[str, int | float]":
        """Give every number under one name, for tables and files."""
        numbers: dict[str, int | float] = {
            "total_ps": self.total_ps,
            "least_ps": self.least_ps,
            "copy_ps": self.copy_ps,
            "kernel_ps": self.kernel_ps,
            "bytes_to_gpu": self.bytes_to_gpu,
            "bytes_to_cpu": self.bytes_to_cpu,
            "accessed_share": self.accessed_share,
            "max_ranges": self.max_ranges,
            "mean_ranges": self.mean_ranges,
            "link_to_gpu_busy_ps": self.link_busy_ps[0],
            "link_to_cpu_busy_ps": self.link_busy_ps[1],
        }
        groups = {"stall": self.stall_ps, "tlb": self.tlb, "cache": self.caches, "": self.counts}
        for prefix, group in {**groups, "bytes": self.traffic_bytes}.items():
            numbers |= {f"{prefix}_{name}".lstrip("_"): value for name, value in group.items()}
        return numbers


_STALLS = ("issue_ps", "memory_ps", "translation_ps", "migration_ps", "barrier_ps")
_TRAFFIC = (
    "copied_to_gpu",
    "migrated_to_gpu",
    "remote_to_gpu",
    "copied_to_cpu",
    "returned_to_cpu",
    "evicted_to_cpu",
    "remote_to_cpu",
)
_TLB = (
    "accesses",
    "misses",
    "misses_or_absent",
    "accesses_after_l1",
    "misses_after_l1",
    "misses_or_absent_after_l1",
    "shared_accesses",
    "shared_misses",
)
_CACHES = ("l1_hits", "l1_misses", "l2_hits", "l2_misses", "dram_reads", "dram_writes")
_COUNTS = (
    "migrations",
    "transfers",
    "waits",
    "buffer_waits",
    "fault_batches",
    "fault_blocks",
    "fault_pages",
    "advised_in_place",
    "advised_read_mostly",
    "advised_on_gpu",
    "evictions",
    "cpu_requests",
    "returned_steps",
    "returned_blocks",
    "returned_faults",
    "returned_pages",
    "touched_bytes",
    "accessed_bytes",
    "line_requests",
    "warp_instructions",
    "num_ctas",
    "events",
)


def result_of(native: "_native.SimResult") -> SimulationResult:
    """Read the simulator's result."""
    return SimulationResult(
        modelled=True,
        total_ps=native.total_ps,
        least_ps=native.least_ps,
        copy_ps=native.copy_ps,
        kernel_ps=native.kernel_ps,
        launch_ps=np.array(native.launches, dtype=np.uint64).reshape(-1, 2),
        stall_ps=_numbers(native.stalls, _STALLS),
        traffic_bytes=_numbers(native.traffic, _TRAFFIC),
        tlb=_numbers(native.tlb, _TLB),
        caches=_numbers(native.caches, _CACHES),
        counts=_numbers(native, _COUNTS),
        ranges_per_page=np.array(native.ranges_per_page, dtype=np.uint64),
        accessed_share=native.accessed_share,
        link=_utilisation(native.utilisation, native.total_ps),
        link_busy_ps=(native.link_to_gpu_busy_ps, native.link_to_cpu_busy_ps),
        event_digest=native.event_digest,
    )


def _numbers(native: object, names: tuple[str, ...]) -> dict[str, int]:
    return {name: getattr(native, name) for name in names}


def _utilisation(native: "_native.SimUtilisation", total_ps: int) -> LinkUtilisation:
    num_bins = max(1, -(-total_ps // native.bin_ps))
    return LinkUtilisation(
        bin_seconds=native.bin_ps / _PS_PER_S,
        to_gpu=np.array(native.to_gpu_ps[:num_bins], dtype=np.float64) / native.bin_ps,
        to_cpu=np.array(native.to_cpu_ps[:num_bins], dtype=np.float64) / native.bin_ps,
    )


def empty_result() -> SimulationResult:
    """Give a result of zeros: it has the names and types of all numbers."""
    none = np.zeros(0)
    return SimulationResult(
        modelled=True,
        total_ps=0,
        least_ps=0,
        copy_ps=0,
        kernel_ps=0,
        launch_ps=np.zeros((0, 2), dtype=np.uint64),
        stall_ps=dict.fromkeys(_STALLS, 0),
        traffic_bytes=dict.fromkeys(_TRAFFIC, 0),
        tlb=dict.fromkeys(_TLB, 0),
        caches=dict.fromkeys(_CACHES, 0),
        counts=dict.fromkeys(_COUNTS, 0),
        ranges_per_page=np.zeros(0, dtype=np.uint64),
        accessed_share=0.0,
        link=LinkUtilisation(bin_seconds=0.0, to_gpu=none, to_cpu=none),
        link_busy_ps=(0, 0),
        event_digest=0,
    )

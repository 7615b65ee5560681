"""The base of every test of `isthmus bench`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from isthmus.measure.bench.demand import BufferKinds, Demand, Footprint, StoppingRule
from isthmus.measure.bench.metrics import EVENT_METRICS, Metric


class Suite(StrEnum):
    """Tests that belong together: the argument of `isthmus bench SUITE`."""

    BANDWIDTH = "bandwidth"
    LATENCY = "latency"
    ALLOC = "alloc"
    PINNED_VS_PAGEABLE = "pinned_vs_pageable"
    OVERLAP = "overlap"
    NUMA = "numa"
    MULTI = "multi"
    WINDOWS = "windows"
    HOST = "host"
    PAGING = "paging"
    BLOCKS = "blocks"


class Direction(StrEnum):
    """The direction of the bytes."""

    HOST_TO_DEVICE = "h2d"
    DEVICE_TO_HOST = "d2h"

    @property
    def label(self) -> str:
        """Its usual name: "H2D"."""
        return self.value.upper()

    @property
    def opposite(self) -> "Direction":
        """The other direction."""
        up = self == Direction.HOST_TO_DEVICE
        return Direction.DEVICE_TO_HOST if up else Direction.HOST_TO_DEVICE


class Residence(StrEnum):
    """Where a flag or data are that both CPU and GPU access."""

    DEVICE = "device"
    PINNED = "pinned"


@dataclass(frozen=True, kw_only=True)
class Variation:
    """
    The circumstances of a measurement, besides its size.

    Attributes:
        num_threads: The most threads that may share one copy.
        cpu_cache: Whether the host's bytes are in the CPU's caches, as far as they fit.
        cpu_node: The NUMA node of threads and host memory, relative to the device; None if it
            doesn't matter.
        question: For a round trip, the memory of the flag that the CPU sets.
        answer: For a round trip, the memory of the flag that the kernel sets.
        data: For a round trip, the memory of its data; None without data.
        axes: Other circumstances by name, such as ("streams", 4); a result's `axes`.
            An underscore is shown as a space.
    """

    num_threads: int = 1
    cpu_cache: Literal["warm", "cold"] = "warm"
    cpu_node: Literal["near", "far"] | None = None
    question: Residence | None = None
    answer: Residence | None = None
    data: Residence | None = None
    axes: tuple[tuple[str, str | int], ...] = ()

    @property
    def words(self) -> str:
        """The unusual circumstances: "cold, 4 threads"; empty if there are none."""
        parts = [
            "cold" if self.cpu_cache == "cold" else "",
            f"{self.num_threads} threads" if self.num_threads > 1 else "",
            f"{self.cpu_node} node" if self.cpu_node == "far" else "",
            f"{self.question} to {self.answer} flag" if self.question else "",
            f"{self.data} data" if self.data else "",
            *(axis_words(name, value) for name, value in self.axes),
        ]
        return ", ".join(filter(None, parts))


PLAIN = Variation()


def axis_words(name: str, value: str | int) -> str:
    """Write one circumstance: "4 streams", "1 stream", "contents zeros"."""
    spoken = name.replace("_", " ")
    if isinstance(value, int):
        return f"{value} {spoken.removesuffix('s') if value == 1 else spoken}"
    return f"{spoken} {value}"


@dataclass(frozen=True, kw_only=True)
class BenchTest:
    """
    One test.

    Attributes:
        direction: The direction of the bytes; None for both or neither.
        loop: The native module's loop that measures it: a row of cpp/src/measure/table/loops.inc.
        derived: Metrics that are derived when all results are complete.
        only_by_name: It is measured where `-t` or `-p` names it, and else not: other programs can't
            allocate on the device meanwhile.
    """

    name: str
    about: str
    suite: Suite
    metrics: tuple[Metric, ...]
    direction: Direction | None
    loop: str = ""
    derived: tuple[Metric, ...] = ()
    only_by_name: bool = False

    def points(self, demand: Demand) -> list[tuple[int, Variation]]:
        """List what to measure: sizes in bytes, each with its circumstances, in order."""
        raise NotImplementedError(f"{self.name} lists no points for {demand}")

    def footprint(self, size_bytes: int, variation: Variation) -> Footprint:
        """Give the memory that one point allocates; by default a buffer on each side."""
        del variation
        return Footprint(host_bytes=size_bytes, device_bytes=size_bytes)

    def values(self, size_bytes: int, variation: Variation) -> dict[str, object]:
        """Give values of the loop that are neither fields of the test nor axes of the point."""
        del size_bytes, variation
        return {}

    def buffers(self, variation: Variation) -> BufferKinds | None:
        """Give the buffers that a point needs from the session; by default none."""
        del variation
        return None

    def weight(self, size_bytes: int, variation: Variation) -> float:
        """
        Weigh how much of the budget a point gets, relative to a copy of no bytes; 1 GiB weighs as
        much as 65 of the smallest, which need many samples.
        """
        del variation
        return 1.0 + size_bytes / (16 << 20)

    def stopping(
        self, size_bytes: int, variation: Variation, share_s: float, *, emulated: bool
    ) -> StoppingRule:
        """Choose when a point has enough samples."""
        del size_bytes, variation
        return StoppingRule(
            min_samples=3 if emulated else 5,
            max_samples=200,
            max_seconds=share_s,
            relative_iqr=0.005,
        )

    def metrics_in(self, variation: Variation) -> tuple[Metric, ...]:
        """List the metrics that have a meaning in these circumstances."""
        del variation
        return self.metrics

    def unit(self, metric: Metric) -> Literal["B/s", "s", "B", "1"]:
        """Give a metric's unit. For "B/s", samples are the seconds for the point's bytes."""
        return "B/s" if metric == Metric.BANDWIDTH else "s"

    def moves_all(self, metric: Metric) -> bool:
        """Whether all of a point's bytes are moved in a metric's time, whatever its unit."""
        return self.unit(metric) == "B/s"

    def clock(self, metric: Metric) -> Literal["device", "host"]:
        """Whose clock times a metric."""
        return "device" if metric in EVENT_METRICS else "host"

    def behind_gate(self, metric: Metric) -> bool:
        """Whether a metric's copies are all enqueued before the first begins."""
        del metric
        return False

    def ends(self, metric: Metric, variation: Variation) -> tuple[str | None, str | None]:
        """Give the kinds of memory that are read and written; for a round trip, its flags'."""
        if self.direction is None:
            question, answer = variation.question, variation.answer
            return question and question.value, answer and answer.value
        host = self.host_end(metric)
        return (host, "device") if self.direction == Direction.HOST_TO_DEVICE else ("device", host)

    def host_end(self, metric: Metric) -> str:
        """Give the kind of memory at the host's end."""
        del metric
        return "pageable"

    @property
    def source(self) -> str | None:
        """The kind of memory that is read; None if there are several."""
        return self.ends(self.metrics[0], PLAIN)[0]

    @property
    def target(self) -> str | None:
        """The kind of memory that is written; None if there are several."""
        return self.ends(self.metrics[0], PLAIN)[1]

"""A session whose copies take as long as the test says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.session import Buffers
from isthmus.measure.bench.tests.catalogue import (
    PLAIN,
    BenchTest,
    BufferKinds,
    CopyTest,
    Direction,
    HostMemory,
    Variation,
    WindowTest,
)
from isthmus.measure.run.machine import LinkErrors, WindowFacts
from isthmus.measure.run.result import Result


@dataclass
class FakeBuffers:
    kinds: BufferKinds
    size_bytes: int
    host_pages_by_node: Mapping[int, int] = field(default_factory=dict)


@dataclass
class FakeSamples:
    metric: str
    seconds: Sequence[float]
    copies_per_sample: int = 4
    stopped_by: str = "noise"


@dataclass
class FakeMeasurement:
    samples: Sequence[FakeSamples]
    first_call_seconds: float = 0.5
    verified_on: str = "device"
    waived: Mapping[str, str] = field(default_factory=dict)
    host_pages_by_node: Mapping[int, int] = field(default_factory=dict)


def usual(test: BenchTest, size_bytes: int) -> FakeMeasurement:
    """Three samples of every metric, around 1 ns a byte plus 10 us."""
    middle = size_bytes * 1e-9 + 1e-5
    names = ["copy_time" if metric == "bandwidth" else metric for metric in test.metrics]
    return FakeMeasurement(
        [FakeSamples(name, [middle, middle * 0.9, middle * 1.1]) for name in names]
    )


# Seconds without a byte, and for each byte: what each way of a window costs.
_WINDOW_COSTS = {
    "fenced": (1e-7, 6e-11),
    "posted": (1e-8, 6e-11),
    "complete": (1e-6, 1e-9),
    "memcpy_pinned": (6e-6, 2e-11),
    "memcpy_pageable": (7e-6, 1e-10),
    "launched": (8e-6, 3e-11),
    "asked": (3e-6, 3e-11),
    "copy_time": (1e-7, 5e-11),
}


def usual_window(test: WindowTest, size_bytes: int, variation: Variation) -> FakeMeasurement:
    """Three samples of every metric; cold memory costs half as much again, threads share."""
    factor = (1.5 if variation.cpu_cache == "cold" else 1.0) / variation.num_threads
    samples = []
    for metric in test.metrics_in(variation):
        name = "copy_time" if metric == "bandwidth" else metric.value
        start, each = _WINDOW_COSTS.get(name, (2e-6, 1e-10))
        middle = start + each * size_bytes * factor
        samples.append(FakeSamples(name, [middle, middle * 0.99, middle * 1.01]))
    return FakeMeasurement(samples, verified_on="host")


@dataclass
class FakeSession:
    """
    Implements isthmus.measure.bench.session.Session.

    Attributes:
        answer: Gives what a measurement yields, or raises.
        refuse: Raises if this host memory can't be allocated.
        calls: What was asked, in order.
        rules: The stopping rules that came with the measurements.
        answer_window: Gives what a measurement of windows yields, or raises.
        window_facts: How windows are opened.
        clocks: What holds the GPU's clocks down.
        errors: What goes wrong on the link.
    """

    answer: Callable[[BenchTest, int], FakeMeasurement] = usual
    refuse: Callable[[HostMemory], None] = lambda _: None
    emulated: bool = False
    free_bytes: int = 80 << 30
    notes: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    rules: list[StoppingRule] = field(default_factory=list)
    answer_window: Callable[[WindowTest, int, Variation], FakeMeasurement] = usual_window
    window_facts: WindowFacts | None = None
    clocks: Sequence[str] | None = None
    errors: LinkErrors | None = None

    def free_device_bytes(self) -> int:
        return self.free_bytes

    def allocate(self, kinds: BufferKinds, size_bytes: int) -> FakeBuffers:
        self.calls.append(f"allocate {kinds.host_memory} {size_bytes}")
        self.refuse(kinds.host_memory)
        return FakeBuffers(kinds, size_bytes, {0: 16})

    def measure(
        self,
        test: BenchTest,
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
        buffers: Buffers | None,
    ) -> FakeMeasurement:
        words = f", {variation.words}" if variation != PLAIN else ""
        self.calls.append(f"measure {test.name} {size_bytes}{words}")
        self.rules.append(stopping)
        if isinstance(test, WindowTest):
            return self.answer_window(test, size_bytes, variation)
        if isinstance(test, CopyTest):
            assert isinstance(buffers, FakeBuffers)
            assert buffers.size_bytes >= size_bytes
            assert buffers.kinds == test.buffers(variation)
        return self.answer(test, size_bytes)

    def clock_reasons(self) -> Sequence[str] | None:
        return self.clocks

    def link_errors(self) -> LinkErrors | None:
        self.calls.append("link errors")
        return self.errors

    def keep_link_busy(self, buffers: Buffers, direction: Direction, seconds: float) -> None:
        self.calls.append(f"load {direction} {seconds} {buffers.host_pages_by_node}")


@dataclass
class Watcher:
    """Implements isthmus.measure.bench.runner.Observer: remembers what it was told."""

    started: list[str] = field(default_factory=list)
    finished: list[Sequence[Result]] = field(default_factory=list)

    def point_started(self, index: int, total: int, point: Point) -> None:
        self.started.append(f"{index}/{total} {point.test.name} {point.size_bytes}")

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        assert all(result.bytes == point.size_bytes for result in results)
        self.finished.append(results)

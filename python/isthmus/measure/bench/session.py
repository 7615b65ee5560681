"""
What the runner needs from a device.

`native/session.py` implements it with the native module; the runner's tests have their own.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.tests.catalogue import BenchTest, BufferKinds, Direction, Variation
from isthmus.measure.run.machine import LinkErrors, WindowFacts


class Buffers(Protocol):
    """A host buffer and a device buffer, freed when the last reference goes."""

    @property
    def host_pages_by_node(self) -> Mapping[int, int]:
        """Pages of the host buffer on each NUMA node; empty if unknown."""


class Samples(Protocol):
    """The samples of one metric."""

    @property
    def metric(self) -> str:
        """The metric's name; "copy_time" for the times behind a bandwidth."""

    @property
    def seconds(self) -> Sequence[float]:
        """Seconds for one copy, one number a sample."""

    @property
    def copies_per_sample(self) -> int:
        """The number of copies in one sample."""

    @property
    def stopped_by(self) -> str:
        """What ended the sampling: "noise", "time" or "max_samples"."""


class Measurement(Protocol):
    """The outcome of one call."""

    @property
    def samples(self) -> Sequence[Samples]:
        """One entry for each metric that was measured."""

    @property
    def first_call_seconds(self) -> float:
        """Time of the first copy, which is not a sample."""

    @property
    def verified_on(self) -> str:
        """Who compared the bytes: "device", "host", or "nobody" if the rule said so."""

    @property
    def waived(self) -> Mapping[str, str]:
        """Metrics that can't be measured here, and why."""

    @property
    def host_pages_by_node(self) -> Mapping[int, int]:
        """Where the host's pages were: node to number of pages; empty if not checked."""


class Session(Protocol):
    """One device, ready to measure."""

    @property
    def emulated(self) -> bool:
        """Whether the device is emulated."""

    @property
    def notes(self) -> Sequence[str]:
        """What was not available while measuring, and why."""

    @property
    def window_facts(self) -> WindowFacts | None:
        """How windows were opened; None if none was."""

    def free_device_bytes(self) -> int:
        """Read how much memory the device has free."""

    def allocate(self, kinds: BufferKinds, size_bytes: int) -> Buffers:
        """Allocate a pair of buffers, each of `size_bytes`."""

    def measure(
        self,
        test: BenchTest,
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
        buffers: Buffers | None,
    ) -> Measurement:
        """
        Measure one point; buffers are of at least that size, or None for tests that allocate their
        own.
        """

    def clock_reasons(self) -> Sequence[str] | None:
        """Name the reasons for reduced GPU clocks since the last call; None if unknown."""

    def link_errors(self) -> LinkErrors | None:
        """Count the link's errors since the first call; None if there is no link."""

    def keep_link_busy(self, buffers: Buffers, direction: Direction, seconds: float) -> None:
        """Copy in a loop for this time. Other Python threads run meanwhile."""

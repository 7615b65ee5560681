"""The native module as a `Session`."""

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING

from isthmus.measure.bench.demand import BufferKinds, HostMemory, StoppingRule
from isthmus.measure.bench.native.device_under_test import DeviceUnderTest, Gpu, Gpus
from isthmus.measure.bench.native.large_copies import LargeCopies
from isthmus.measure.bench.native.paging import NativePaging
from isthmus.measure.bench.native.places import check_pages, values_of
from isthmus.measure.bench.native.wall_time import check_latencies, within_wall_time
from isthmus.measure.bench.session import Buffers, Measurement
from isthmus.measure.bench.tests.bench_test import BenchTest, Direction, Variation
from isthmus.measure.bench.tests.memory_kinds import LargeCopyTest
from isthmus.measure.bench.tests.paging import PagingTest
from isthmus.measure.machine.link import ClockWatch
from isthmus.measure.machine.link_errors import LinkErrorWatch
from isthmus.measure.run.break_even import MEMORY
from isthmus.measure.run.machine import LinkErrors, WindowFacts

if TYPE_CHECKING:
    from isthmus import _native

_PINNED = BufferKinds(host_memory=HostMemory.PINNED)


@cache
def loop_named(name: str) -> "_native.MeasuringLoop":
    """Give a row of the native module's table of loops."""
    from isthmus import _native

    return next(loop for loop in _native.measuring_loops() if loop.name == name)


class NativeSession:
    """A `Session` over the native module: each point is one call of a loop of its table."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Measure nothing yet."""
        self.device = device
        self.window_facts: WindowFacts | None = None
        self._opened: _native.Bench | None = None
        self._gpus: Gpus | None = None
        self._large = LargeCopies()
        self._paging: NativePaging | None = None
        self._clocks: ClockWatch | None = None
        self._link_errors: LinkErrorWatch | None = None

    @property
    def emulated(self) -> bool:
        """Whether the device is emulated."""
        return self.device.emulated

    @property
    def notes(self) -> list[str]:
        """What was not available while measuring, and why."""
        return self.device.notes

    def check_windows(self) -> None:
        """Raise a UsageError if a window setting in the environment is invalid."""
        self._bench().check_windows()

    def free_device_bytes(self) -> int:
        """Read how much memory the device has free."""
        return self.device.context.free_memory_bytes()

    def allocate(self, kinds: BufferKinds, size_bytes: int) -> Buffers:
        """Allocate a pair of buffers, each of `size_bytes`."""
        return self.device.allocate(kinds, size_bytes)

    def measure(
        self,
        test: BenchTest,
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
        buffers: Buffers | None,
    ) -> Measurement:
        """Measure one point; without the kernels once they turn out not to load."""
        if isinstance(test, PagingTest):
            self._paging = self._paging or NativePaging(self.device)
            return self._paging.measure(test, variation, stopping)
        if not isinstance(test, LargeCopyTest):
            return self._measure(test, size_bytes, variation, stopping, buffers)
        wanted = test.direction, size_bytes, str(dict(variation.axes)[MEMORY])
        known = self._large.take(*wanted)
        if known is not None:
            return known
        lives = self._measure(test, size_bytes, variation, stopping, buffers)
        return self._large.split(lives, *wanted)

    def _measure(
        self,
        test: BenchTest,
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
        buffers: Buffers | None,
    ) -> "_native.Measurement":
        from isthmus import _native

        loop, bench = loop_named(test.loop), self._bench()
        if loop.windows:
            self._describe_windows(bench)
        values = values_of(self.device, test, size_bytes, variation)
        values["stopping"] = _native.Stopping(**asdict(stopping))
        pairs = self._buffers(loop, size_bytes, buffers)
        gpus = [] if loop.gpus == "none" else self._chosen_gpus(loop.gpus, variation)
        found = within_wall_time(
            lambda: self.device.with_kernels(
                lambda kernels: bench.measure(
                    loop.name,
                    values,
                    kernels=kernels,
                    buffers=pairs,
                    gpus=[
                        (gpu.context, gpu.kernels if kernels else None, gpu.node) for gpu in gpus
                    ],
                )
            ),
            stopping,
            sampled=[metric.name for metric in loop.metrics if metric.clock == "alone"],
        )
        for notice in bench.take_notices():
            self.device.note_once(notice)
        if loop.name == "small_copies":
            check_latencies(found, by_driver=values["method"] != "window")
        check_pages(self.device, found, values, variation)
        return found

    def _bench(self) -> "_native.Bench":
        from isthmus import _native

        if self._opened is None:
            self._opened = _native.Bench(self.device.context)
        return self._opened

    def _buffers(
        self, loop: "_native.MeasuringLoop", size_bytes: int, given: Buffers | None
    ) -> "list[_native.CopyBuffers]":
        if given is not None:
            return [_native_buffers(given)]
        return [self.device.allocate(_PINNED, size_bytes) for _ in range(loop.num_buffers)]

    def _chosen_gpus(self, wanted: str, variation: Variation) -> list[Gpu]:
        self._gpus = self._gpus or Gpus(self.device)
        return self._gpus.chosen(wanted, variation)

    def _describe_windows(self, bench: "_native.Bench") -> None:
        if self.window_facts is None:
            backend, instructions = bench.describe_windows()
            self.window_facts = WindowFacts(backend=backend, instructions=instructions)

    def clock_reasons(self) -> list[str] | None:
        """Name the reasons for reduced GPU clocks since the last call; None if unknown."""
        if self.emulated:
            return None
        if self._clocks is None:
            self._clocks = ClockWatch(self.device.pci_address)
        return self._clocks.reasons()

    def link_errors(self) -> LinkErrors | None:
        """Count the link's errors since the first call; None without a link."""
        if self.emulated:
            return None
        if self._link_errors is None:
            self._link_errors = LinkErrorWatch(self.device.pci_address)
        return self._link_errors.grown()

    def keep_link_busy(self, buffers: Buffers, direction: Direction, seconds: float) -> None:
        """Copy in a loop for this time, with Python's lock released."""
        from isthmus import _native

        _native.run_copy_load(_native_buffers(buffers), direction=direction.value, seconds=seconds)


def _native_buffers(buffers: Buffers) -> "_native.CopyBuffers":
    from isthmus import _native

    if not isinstance(buffers, _native.CopyBuffers):
        raise TypeError(f"these buffers are not the native session's own: {buffers!r}")
    return buffers

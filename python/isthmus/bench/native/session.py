"""The native module as a `Session`."""

from typing import TYPE_CHECKING, Any, Protocol

from isthmus.bench.native.alloc import NativeAlloc, NativeLargeCopies, NativeLife
from isthmus.bench.native.device_under_test import DeviceUnderTest
from isthmus.bench.native.flows import NativeAllGpus, NativeOneGpu, NativePeers
from isthmus.bench.native.host import NativeHostCopies
from isthmus.bench.native.numa import NativeNuma
from isthmus.bench.native.paging import NativePaging
from isthmus.bench.native.reaching import NativeManaged, NativePageFaults, NativePointerChase
from isthmus.bench.native.requests import (
    NativeBoxes,
    NativeDuplex,
    NativeManyCopies,
    NativeOverlap,
    NativePitched,
    NativeStreams,
)
from isthmus.bench.native.rule import native_rule
from isthmus.bench.native.small_copies import NativeSmallCopies
from isthmus.bench.native.windows import NativeWindows
from isthmus.bench.session import Buffers, Measurement
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.all_gpus import AllGpusTest
from isthmus.bench.tests.alloc import AllocTest
from isthmus.bench.tests.boxes import BoxTest
from isthmus.bench.tests.catalogue import (
    BenchTest,
    BufferKinds,
    CopyTest,
    Direction,
    Variation,
    WindowTest,
)
from isthmus.bench.tests.duplex import DuplexTest
from isthmus.bench.tests.experiments import SmallTransferTest
from isthmus.bench.tests.host import HostCopyTest
from isthmus.bench.tests.managed import ManagedTest, PageFaultTest
from isthmus.bench.tests.many_copies import ManyCopiesTest
from isthmus.bench.tests.memory_life import LifeTest
from isthmus.bench.tests.numa import NumaTest
from isthmus.bench.tests.overlap import OverlapTest
from isthmus.bench.tests.paging import PagingTest
from isthmus.bench.tests.peers import OneGpuTest, PeerTest
from isthmus.bench.tests.pinned_vs_pageable import LargeCopyTest
from isthmus.bench.tests.pointer_chase import PointerChaseTest
from isthmus.bench.tests.small_copies import SmallCopyTest
from isthmus.bench.tests.streams import PitchedTest, StreamsTest
from isthmus.machine.clocks import ClockWatch
from isthmus.machine.link_errors import LinkErrorWatch
from isthmus.run.machine import LinkErrors, WindowFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native


class Instrument(Protocol):
    """Measures one kind of test with the native module; created when first needed."""

    def measure(
        self,
        test: Any,  # noqa: ANN401 - each knows its own kind of test, and INSTRUMENTS pairs them
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
    ) -> Measurement:
        """Measure one point."""


class NativeSession:
    """A `Session` over the native module: a device, and an instrument for each kind of test."""

    def __init__(self, device: DeviceUnderTest) -> None:
        """Measure nothing yet."""
        self.device = device
        self._instruments: dict[type[BenchTest], Instrument] = {}
        self._clocks: ClockWatch | None = None
        self._link_errors: LinkErrorWatch | None = None

    @property
    def window_facts(self) -> WindowFacts | None:
        """How windows were opened; None if none was."""
        windows = self._instruments.get(WindowTest)
        return windows.facts if isinstance(windows, NativeWindows) else None

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
        NativeWindows(self.device).check_settings()

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
        if isinstance(test, CopyTest) and buffers is not None:
            rule, pair = native_rule(stopping), buffers
            return self.device.with_kernels(
                lambda kernels: _measure_copy(pair, kernels, test, size_bytes, rule)
            )
        return self._instrument(type(test)).measure(test, size_bytes, variation, stopping)

    def _instrument(self, kind: type[BenchTest]) -> Instrument:
        if kind not in self._instruments:
            self._instruments[kind] = INSTRUMENTS[kind](self.device)
        return self._instruments[kind]

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


INSTRUMENTS: "dict[type[BenchTest], Callable[[DeviceUnderTest], Instrument]]" = {
    ManagedTest: NativeManaged,
    PageFaultTest: NativePageFaults,
    PointerChaseTest: NativePointerChase,
    SmallCopyTest: NativeSmallCopies,
    SmallTransferTest: NativeSmallCopies,
    AllocTest: NativeAlloc,
    LifeTest: NativeLife,
    LargeCopyTest: NativeLargeCopies,
    HostCopyTest: NativeHostCopies,
    DuplexTest: NativeDuplex,
    StreamsTest: NativeStreams,
    PitchedTest: NativePitched,
    BoxTest: NativeBoxes,
    ManyCopiesTest: NativeManyCopies,
    OverlapTest: NativeOverlap,
    WindowTest: NativeWindows,
    NumaTest: NativeNuma,
    AllGpusTest: NativeAllGpus,
    PeerTest: NativePeers,
    OneGpuTest: NativeOneGpu,
    PagingTest: NativePaging,
}


def _measure_copy(
    buffers: Buffers,
    kernels: "_native.Kernels | None",
    test: CopyTest,
    size_bytes: int,
    rule: "_native.Stopping",
) -> "_native.Measurement":
    from isthmus import _native

    pair = _native_buffers(buffers)
    return _native.measure_bandwidth(
        pair,
        kernels,
        direction=test.direction.value,
        size_bytes=size_bytes,
        blocked=test.blocked,
        stopping=rule,
        by="multiprocessors" if test.by_kernel else "copy_engine",
    )


def _native_buffers(buffers: Buffers) -> "_native.CopyBuffers":
    from isthmus import _native

    if not isinstance(buffers, _native.CopyBuffers):
        raise TypeError(f"these buffers are not the native session's own: {buffers!r}")
    return buffers

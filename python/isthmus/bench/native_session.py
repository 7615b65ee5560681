"""The native module as a `Session`."""

import weakref
from typing import TYPE_CHECKING, Any, Protocol

from isthmus.bench.all_gpus import AllGpusTest
from isthmus.bench.alloc import AllocTest
from isthmus.bench.boxes import BoxTest
from isthmus.bench.duplex import DuplexTest
from isthmus.bench.experiments import SmallTransferTest
from isthmus.bench.host import HostCopyTest
from isthmus.bench.managed import ManagedTest, PageFaultTest
from isthmus.bench.many_copies import ManyCopiesTest
from isthmus.bench.memory_life import LifeTest
from isthmus.bench.native_alloc import NativeAlloc, NativeLargeCopies, NativeLife
from isthmus.bench.native_flows import NativeAllGpus, NativeOneGpu, NativePeers
from isthmus.bench.native_host import NativeHostCopies
from isthmus.bench.native_kernels import open_kernels
from isthmus.bench.native_numa import NativeNuma
from isthmus.bench.native_reaching import NativeManaged, NativePageFaults, NativePointerChase
from isthmus.bench.native_requests import (
    NativeBoxes,
    NativeDuplex,
    NativeManyCopies,
    NativeOverlap,
    NativePitched,
    NativeStreams,
)
from isthmus.bench.native_rule import native_rule
from isthmus.bench.native_small_copies import NativeSmallCopies
from isthmus.bench.native_windows import NativeWindows
from isthmus.bench.numa import NumaTest
from isthmus.bench.overlap import OverlapTest
from isthmus.bench.peers import OneGpuTest, PeerTest
from isthmus.bench.pinned_vs_pageable import LargeCopyTest
from isthmus.bench.pointer_chase import PointerChaseTest
from isthmus.bench.session import Buffers, Measurement
from isthmus.bench.small_copies import SmallCopyTest
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.streams import PitchedTest, StreamsTest
from isthmus.bench.tests import (
    BenchTest,
    BufferKinds,
    CopyTest,
    Direction,
    HostMemory,
    Variation,
    WindowTest,
)
from isthmus.errors import DriverError, Unavailable
from isthmus.machine.clocks import ClockWatch
from isthmus.machine.link_errors import LinkErrorWatch
from isthmus.machine.placement import Placement, stray_pages_note
from isthmus.run.machine import LinkErrors, WindowFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native


class Instrument(Protocol):
    """Measures one kind of test with the native module; made when the first of them is wanted."""

    def measure(
        self,
        test: Any,  # noqa: ANN401 - each knows its own kind of test, and INSTRUMENTS pairs them
        size_bytes: int,
        variation: Variation,
        stopping: StoppingRule,
    ) -> Measurement:
        """Measure one point."""


class NativeSession:
    """A `Session` over the native module's context."""

    def __init__(
        self,
        driver: "_native.Driver",
        context: "_native.Context",
        kernels: "_native.Kernels | None",
        *,
        placement: Placement,
    ) -> None:
        """
        Wrap an open context.

        Args:
            driver: The driver that the context belongs to.
            context: Where everything runs.
            kernels: Compiled kernels; None verifies on the host and waives what needs them.
            placement: Where the host's buffers go, and are to be found.
        """
        self.driver = driver
        self.context = context
        self.kernels = kernels
        self.placement = placement
        self.notes: list[str] = []
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
        return self.driver.emulated

    def check_windows(self) -> None:
        """Raise a UsageError if the environment's settings of windows can't be."""
        NativeWindows(self).check_settings()

    def free_device_bytes(self) -> int:
        """Tell how much memory the device has free."""
        return self.context.free_memory_bytes()

    def allocate(self, kinds: BufferKinds, size_bytes: int) -> "_native.CopyBuffers":
        """Allocate a pair of buffers on the session's NUMA node, and note it if they are not."""
        from isthmus import _native

        buffers = _native.CopyBuffers(
            self.context,
            host_memory=kinds.host_memory.value,
            size_bytes=size_bytes,
            numa_node=self.placement.bound_node,
            device_memory=kinds.device_memory.value,
            contents=kinds.contents.value,
            host_offset_bytes=kinds.host_offset_bytes,
            device_offset_bytes=kinds.device_offset_bytes,
        )
        # Pageable memory has no pages before it is first written.
        if kinds.host_memory != HostMemory.PAGEABLE:
            pages, node = buffers.host_pages_by_node, self.placement.wanted_node
            self.note_once(stray_pages_note(pages, node, kinds.host_memory.value))
        return buffers

    def note_once(self, note: str | None) -> None:
        """Keep what the user should know; None is nothing."""
        if note is not None and note not in self.notes:
            self.notes.append(note)

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
            return self.with_kernels(
                lambda kernels: _measure_copy(pair, kernels, test, size_bytes, rule)
            )
        return self._instrument(type(test)).measure(test, size_bytes, variation, stopping)

    def with_kernels(
        self, ask: "Callable[[_native.Kernels | None], _native.Measurement]"
    ) -> "_native.Measurement":
        """Ask with the kernels, and without them once they turn out not to load."""
        try:
            return ask(self.kernels)
        except (Unavailable, DriverError) as error:
            if self.kernels is None or not _kernels_to_blame(error):
                raise
            self.kernels = None
            self.notes.append(f"no kernels: {error}")
            return ask(None)

    def _instrument(self, kind: type[BenchTest]) -> Instrument:
        if kind not in self._instruments:
            # Not to outlive the session: a cycle would keep contexts until somebody collects it.
            self._instruments[kind] = INSTRUMENTS[kind](weakref.proxy(self))
        return self._instruments[kind]

    def open_kernels(self, context: "_native.Context") -> "_native.Kernels | None":
        """Give another device's kernels; None if this session has none either."""
        return None if self.kernels is None else open_kernels(self.driver, context)[0]

    def clock_reasons(self) -> list[str] | None:
        """Name what has held the GPU's clocks down since this was last asked; None if unknown."""
        if self.emulated:
            return None
        if self._clocks is None:
            self._clocks = ClockWatch(self.context.device.pci_address)
        return self._clocks.reasons()

    def link_errors(self) -> LinkErrors | None:
        """Count what has gone wrong on the link since this was first asked; None without a link."""
        if self.emulated:
            return None
        if self._link_errors is None:
            self._link_errors = LinkErrorWatch(self.context.device.pci_address)
        return self._link_errors.grown()

    def keep_link_busy(self, buffers: Buffers, direction: Direction, seconds: float) -> None:
        """Copy in a loop for that long, with Python's lock released."""
        from isthmus import _native

        _native.run_copy_load(_native_buffers(buffers), direction=direction.value, seconds=seconds)


INSTRUMENTS: "dict[type[BenchTest], Callable[[NativeSession], Instrument]]" = {
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


def _kernels_to_blame(error: Unavailable | DriverError) -> bool:
    if isinstance(error, Unavailable):
        return "kernel" in error.capability or "NVRTC" in error.capability
    return error.symbol.startswith("nvrtc")


def _native_buffers(buffers: Buffers) -> "_native.CopyBuffers":
    from isthmus import _native

    if not isinstance(buffers, _native.CopyBuffers):
        raise TypeError(f"these buffers are not the native session's own: {buffers!r}")
    return buffers

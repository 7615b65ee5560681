"""The native module as a `Session`."""

from typing import TYPE_CHECKING, Any, Protocol

from isthmus.bench.native_rule import native_rule
from isthmus.bench.native_windows import NativeWindows
from isthmus.bench.session import Buffers
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests import (
    BenchTest,
    CopyTest,
    Direction,
    HostMemory,
    Variation,
    WindowTest,
)
from isthmus.errors import DriverError, Unavailable
from isthmus.machine.placement import Placement, stray_pages_note
from isthmus.run.machine import WindowFacts

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
    ) -> "_native.Measurement":
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

    def allocate(self, host_memory: HostMemory, size_bytes: int) -> "_native.CopyBuffers":
        """Allocate a pair of buffers on the session's NUMA node, and note it if they are not."""
        from isthmus import _native

        buffers = _native.CopyBuffers(
            self.context,
            host_memory=host_memory.value,
            size_bytes=size_bytes,
            numa_node=self.placement.bound_node,
        )
        # Pageable memory has no pages before it is first written.
        if host_memory == HostMemory.PINNED:
            pages, node = buffers.host_pages_by_node, self.placement.wanted_node
            self.note_once(stray_pages_note(pages, node, host_memory.value))
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
    ) -> "_native.Measurement":
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
            self._instruments[kind] = INSTRUMENTS[kind](self)
        return self._instruments[kind]

    def keep_link_busy(self, buffers: Buffers, direction: Direction, seconds: float) -> None:
        """Copy in a loop for that long, with Python's lock released."""
        from isthmus import _native

        _native.run_copy_load(_native_buffers(buffers), direction=direction.value, seconds=seconds)


INSTRUMENTS: "dict[type[BenchTest], Callable[[NativeSession], Instrument]]" = {
    WindowTest: NativeWindows,
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
    if test.method is None:
        return _native.measure_bandwidth(
            pair,
            kernels,
            direction=test.direction.value,
            size_bytes=size_bytes,
            blocked=test.blocked,
            stopping=rule,
        )
    return _native.measure_latency(
        pair,
        kernels,
        direction=test.direction.value,
        method=test.method.value,
        size_bytes=size_bytes,
        stopping=rule,
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

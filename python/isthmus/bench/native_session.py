"""The native module as a `Session`."""

from typing import TYPE_CHECKING

from isthmus.bench.native_windows import NativeWindows
from isthmus.bench.session import Buffers, StoppingRule
from isthmus.bench.tests import CopyTest, Direction, HostMemory, Variation, WindowTest
from isthmus.errors import DriverError, Unavailable
from isthmus.machine.placement import Placement, stray_pages_note
from isthmus.run.machine import WindowFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from isthmus import _native


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
        self._windows = NativeWindows(context, placement)

    @property
    def window_facts(self) -> WindowFacts | None:
        """How windows were opened; None if none was."""
        return self._windows.facts

    @property
    def emulated(self) -> bool:
        """Whether the device is emulated."""
        return self.driver.emulated

    def check_windows(self) -> None:
        """Raise a UsageError if the environment's settings of windows can't be."""
        self._windows.check_settings()

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
            self._note_once(stray_pages_note(pages, node, host_memory.value))
        return buffers

    def _note_once(self, note: str | None) -> None:
        if note is not None and note not in self.notes:
            self.notes.append(note)

    def measure(
        self, buffers: Buffers, test: CopyTest, size_bytes: int, stopping: StoppingRule
    ) -> "_native.Measurement":
        """Measure a test at one size; without the kernels once they turn out not to load."""
        return self._with_kernels(
            lambda kernels: _measure_copy(buffers, kernels, test, size_bytes, native_rule(stopping))
        )

    def measure_window(
        self, test: WindowTest, size_bytes: int, variation: Variation, stopping: StoppingRule
    ) -> "_native.Measurement":
        """Measure a test of windows; without the kernels once they turn out not to load."""
        found = self._with_kernels(
            lambda kernels: self._windows.measure(
                kernels, test, size_bytes, variation, native_rule(stopping)
            )
        )
        for notice in self._windows.take_notices():
            self._note_once(notice)
        return found

    def _with_kernels(
        self, ask: "Callable[[_native.Kernels | None], _native.Measurement]"
    ) -> "_native.Measurement":
        try:
            return ask(self.kernels)
        except (Unavailable, DriverError) as error:
            if self.kernels is None or not _kernels_to_blame(error):
                raise
            self.kernels = None
            self.notes.append(f"no kernels: {error}")
            return ask(None)

    def keep_link_busy(self, buffers: Buffers, direction: Direction, seconds: float) -> None:
        """Copy in a loop for that long, with Python's lock released."""
        from isthmus import _native

        _native.run_copy_load(_native_buffers(buffers), direction=direction.value, seconds=seconds)


def native_rule(stopping: StoppingRule) -> "_native.Stopping":
    """Hand a stopping rule to the native module."""
    from isthmus import _native

    return _native.Stopping(
        min_samples=stopping.min_samples,
        max_samples=stopping.max_samples,
        max_seconds=stopping.max_seconds,
        relative_iqr=stopping.relative_iqr,
    )


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
